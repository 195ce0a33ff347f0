#include "btf_slice.h"

#include <bpf/btf.h>
#include <errno.h>
#include <string.h>

#include "check.h"

/* struct page { unsigned long flags; struct list_head lru; struct big big; refcount_t ref; const
 * struct big *up; int zones[5]; union { int a; int b; }; }, and much that nobody asks for. */
static struct btf *kernel_types(void)
{
	struct btf *btf = btf__new_empty();
	int u64 = btf__add_int(btf, "long unsigned int", 8, 0);
	int i32 = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	int big = btf__add_struct(btf, "big", 4096);
	btf__add_field(btf, "inside", i32, 0, 0);
	int constant = btf__add_const(btf, big);
	int up = btf__add_ptr(btf, constant);
	int list = btf__add_struct(btf, "list_head", 16);
	int list_ptr = btf__add_ptr(btf, list);
	btf__add_struct(btf, "unwanted", 4);
	btf__add_field(btf, "x", i32, 0, 0);
	int counted = btf__add_struct(btf, "refcount_struct", 4);
	btf__add_field(btf, "refs", i32, 0, 0);
	int ref = btf__add_typedef(btf, "refcount_t", counted);
	int five = btf__add_array(btf, i32, i32, 5);
	int either = btf__add_union(btf, NULL, 4);
	btf__add_field(btf, "a", i32, 0, 0);
	btf__add_field(btf, "b", i32, 0, 0);
	btf__add_struct(btf, "page", 8192);
	btf__add_field(btf, "flags", u64, 0, 0);
	btf__add_field(btf, "lru", list, 64, 0);
	btf__add_field(btf, "big", big, 192, 0);
	btf__add_field(btf, "ref", ref, 40000, 0);
	btf__add_field(btf, "up", up, 40064, 0);
	btf__add_field(btf, "zones", five, 40128, 0);
	btf__add_field(btf, NULL, either, 40320, 0);
	btf__add_field(btf, "next", list_ptr, 40384, 0);
	btf__add_enum(btf, "pageflags", 4);
	btf__add_enum_value(btf, "PG_head", 16);
	int proto = btf__add_func_proto(btf, i32);
	btf__add_func(btf, "bpf_iter_task", BTF_FUNC_GLOBAL, proto);
	return btf;
}

static struct map_str wanted(void)
{
	static const char *const names[] = { "page", "list_head", "refcount_t", "pageflags" };
	struct map_str set = { 0 };
	bool made;

	for (size_t i = 0; i < 4; i++)
		CHECK(map_str_put(&set, names[i], strlen(names[i]), &made));
	return set;
}

static const struct btf_member *member(const struct btf *btf, const struct btf_type *t,
				       const char *name)
{
	for (unsigned i = 0; i < btf_vlen(t); i++)
		if (strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), name) == 0)
			return &btf_members(t)[i];
	return NULL;
}

TEST(keeps_what_is_named_and_sizes_of_the_rest)
{
	struct btf *whole = kernel_types();
	AUTO_MAP_STR struct map_str names = wanted();
	AUTO_BUF struct buf out = { 0 };
	struct btf_slice_find func = { .name = "bpf_iter_task", .what = BTF_SLICE_FUNC };
	uint32_t size;
	const void *raw = btf__raw_data(whole, &size);
	struct err err;

	CHECK_EQ(btf_slice_make(raw, size, &names, &func, 1, &out, &err), 0);
	CHECK_EQ(func.id, btf__find_by_name_kind(whole, "bpf_iter_task", BTF_KIND_FUNC));
	struct btf *part = btf__new(out.data, (uint32_t)out.len);
	CHECK(part != NULL);
	CHECK(btf__find_by_name(part, "unwanted") < 0);
	int id = btf__find_by_name_kind(part, "page", BTF_KIND_STRUCT);
	CHECK(id > 0);
	const struct btf_type *page = btf__type_by_id(part, (uint32_t)id);
	CHECK_EQ(page->size, 8192);
	CHECK_EQ(btf_vlen(page), 8);
	CHECK_EQ(member(part, page, "up")->offset, 40064);
	CHECK_EQ(btf__resolve_size(part, member(part, page, "up")->type), 8);
	CHECK_EQ(btf__resolve_size(part, member(part, page, "zones")->type), 20);
	/* not asked for: its size only */
	const struct btf_type *big = btf__type_by_id(part, member(part, page, "big")->type);
	CHECK_EQ(big->size, 4096);
	CHECK_EQ(btf_vlen(big), 0);
	/* asked for by the name of a typedef: what it stands for is whole */
	const struct btf_type *ref = btf__type_by_id(part, member(part, page, "ref")->type);
	CHECK(member(part, ref, "refs") != NULL);
	/* a nameless part has all members */
	const struct btf_type *either = btf__type_by_id(part, member(part, page, "")->type);
	CHECK_EQ(btf_vlen(either), 2);
	id = btf__find_by_name_kind(part, "pageflags", BTF_KIND_ENUM);
	CHECK_EQ(btf_enum(btf__type_by_id(part, (uint32_t)id))[0].val, 16);
	btf__free(part);
	btf__free(whole);
}

TEST(tells_the_places_of_variables)
{
	struct btf *whole = kernel_types();
	int page = btf__find_by_name_kind(whole, "page", BTF_KIND_STRUCT);
	AUTO_MAP_STR struct map_str names = wanted();
	AUTO_BUF struct buf out = { 0 };
	struct btf_slice_find finds[] = { { .name = "pages", .what = BTF_SLICE_VARIABLE },
					  { .name = "page", .what = BTF_SLICE_VARIABLE },
					  { .name = "page", .what = BTF_SLICE_STRUCT },
					  { .name = "nowhere", .what = BTF_SLICE_VARIABLE },
					  { .name = "lost", .what = BTF_SLICE_VARIABLE } };
	uint32_t size;
	struct err err;

	int other = btf__add_var(whole, "others", BTF_VAR_GLOBAL_ALLOCATED, page);
	int pages = btf__add_var(whole, "pages", BTF_VAR_STATIC, page);
	int same_name = btf__add_var(whole, "page", BTF_VAR_STATIC, page);
	int lost = btf__add_var(whole, "lost", BTF_VAR_STATIC, page);
	btf__add_datasec(whole, ".data..percpu", 3 * 8192);
	btf__add_datasec_var_info(whole, other, 0, 8192);
	btf__add_datasec_var_info(whole, pages, 8192, 8192);
	btf__add_datasec_var_info(whole, same_name, 16384, 8192);
	const void *raw = btf__raw_data(whole, &size);
	CHECK_EQ(btf_slice_make(raw, size, &names, finds, 5, &out, &err), 0);
	CHECK(finds[0].placed);
	CHECK_EQ(finds[0].id, pages);
	CHECK_EQ(finds[0].offset, 8192);
	CHECK(finds[1].placed);
	CHECK_EQ(finds[1].offset, 16384);
	CHECK_EQ(finds[2].id, page);
	CHECK(!finds[2].placed);
	CHECK(!finds[3].placed && !finds[3].id);
	/* described, but in no section */
	CHECK_EQ(finds[4].id, lost);
	CHECK(!finds[4].placed);
	/* a variable with the name of a wanted type is not taken for it */
	struct btf *part = btf__new(out.data, (uint32_t)out.len);
	CHECK(part != NULL);
	CHECK(btf__find_by_name_kind(part, "page", BTF_KIND_VAR) < 0);
	btf__free(part);
	btf__free(whole);
}

TEST(refuses_what_is_none)
{
	struct btf *whole = kernel_types();
	AUTO_MAP_STR struct map_str names = wanted();
	AUTO_BUF struct buf out = { 0 };
	uint32_t size;
	const void *raw = btf__raw_data(whole, &size);
	char copy[4096];
	struct err err;

	CHECK(size <= sizeof(copy));
	for (uint32_t cut = 0; cut < size; cut++)
		CHECK(btf_slice_make(raw, cut, &names, NULL, 0, &out, &err) < 0);
	memcpy(copy, raw, size);
	copy[0] ^= 1;
	CHECK_EQ(btf_slice_make(copy, size, &names, NULL, 0, &out, &err), -EBADMSG);
	memcpy(copy, raw, size);
	/* a kind from the future */
	copy[sizeof(struct btf_header) + 7] = 31;
	CHECK_EQ(btf_slice_make(copy, size, &names, NULL, 0, &out, &err), -EOPNOTSUPP);
	btf__free(whole);
}

TEST_MAIN

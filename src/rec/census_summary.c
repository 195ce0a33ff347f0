#include "census_summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"

const char *census_method_name(enum census_method method)
{
	static const char *const names[] = {
		[CENSUS_BY_NOTHING] = "none",
		[CENSUS_BY_BPF] = "census",
		[CENSUS_BY_PROC_CGROUPS] = "proc-cgroups",
		[CENSUS_BY_CGROUP_STAT] = "cgroup-stat",
	};
	return method <= CENSUS_BY_CGROUP_STAT ? names[method] : "none";
}

static bool is_text(const char *text, struct owner_text other)
{
	return strncmp(text, other.at, other.len) == 0 && !text[other.len];
}

/* Whether owner_group() would say what the group is called, without writing it. */
static bool is_of_group(const struct census_group *g, const struct owner *owner)
{
	if (g->kind != owner->kind)
		return false;
	if ((owner->kind == OWNER_UNIT || owner->kind == OWNER_USER) && owner->unit.at)
		return is_text(g->owner, owner->unit);
	if (owner->kind == OWNER_LAB)
		return is_text(g->owner, owner->task);
	return is_text(g->parent, owner->parent);
}

static const char *keep_text(struct census_summary *s, struct owner_text text)
{
	return text.at ? arena_strndup(&s->strings, text.at, text.len) : NULL;
}

static const char *keep_pod(struct census_summary *s, const struct owner *owner)
{
	AUTO_BUF struct buf uid = { 0 };

	owner_pod_uid(&uid, owner);
	return uid.len ? arena_strndup(&s->strings, uid.data, uid.len) : NULL;
}

/* One name stands for the group only while all of it has that one. */
static void compare_names(struct census_group *g, const struct owner *owner)
{
	const char **mine[] = { &g->unit, &g->container, &g->task };
	const struct owner_text *its[] = { &owner->unit, &owner->container, &owner->task };

	for (size_t i = 0; i < sizeof(mine) / sizeof(mine[0]); i++)
		if (*mine[i] && (!its[i]->at || !is_text(*mine[i], *its[i])))
			*mine[i] = NULL;
	if (!g->pod)
		return;
	size_t n = strlen(g->pod);
	bool same = owner->pod.at && owner->pod.len == n;
	for (size_t i = 0; same && i < n; i++)
		same = g->pod[i] == (owner->pod.at[i] == '_' ? '-' : owner->pod.at[i]);
	if (!same)
		g->pod = NULL;
}

static struct census_group *group_of(struct census_summary *s, const struct owner *owner)
{
	struct buf *text = &s->scratch;
	bool made;

	/* neighbours are mostly of one group */
	if (s->last < s->groups.len && is_of_group(&s->groups.items[s->last], owner))
		return &s->groups.items[s->last];
	buf_clear(text);
	owner_group(text, owner);
	if (s->groups.len >= CENSUS_MOST_GROUPS &&
	    !map_str_get(&s->by_owner, buf_str(text), text->len))
		return NULL;
	uint64_t *at = map_str_put(&s->by_owner, buf_str(text), text->len, &made);
	if (!at)
		return NULL;
	if (made) {
		struct census_group g = {
			.owner = arena_strndup(&s->strings, buf_str(text), text->len),
			.parent = arena_strndup(&s->strings, owner->parent.at, owner->parent.len),
			.kind = owner->kind,
			.first_serial = UINT64_MAX,
		};
		g.unit = keep_text(s, owner->unit);
		g.container = keep_text(s, owner->container);
		g.task = keep_text(s, owner->task);
		g.pod = keep_pod(s, owner);
		*at = s->groups.len;
		if (!g.owner || !g.parent || !vec_push(&s->groups, g))
			return NULL;
	}
	s->last = *at;
	return &s->groups.items[*at];
}

static int larger_first(const void *a, const void *b)
{
	const struct census_name *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->serial < y->serial ? -1 : x->serial > y->serial;
}

/* The list stays sorted: most zombies are not larger than its last and cost one comparison. */
static void keep_name(struct census_summary *s, const struct zombie *z)
{
	struct census_name n = { NULL, z->id, z->serial, z->bytes, z->file_bytes };
	size_t at = s->n_names;

	if (!z->path_len || (at == CENSUS_MOST_NAMES && n.bytes <= s->names[at - 1].bytes))
		return;
	n.path = strndup(z->path, z->path_len);
	if (!n.path)
		return;
	if (at == CENSUS_MOST_NAMES)
		free(s->names[--at].path);
	else
		s->n_names++;
	for (; at > 0 && larger_first(&s->names[at - 1], &n) > 0; at--)
		s->names[at] = s->names[at - 1];
	s->names[at] = n;
}

bool census_summary_add(struct census_summary *s, const struct zombie *z)
{
	struct census_group *g = group_of(s, &z->owner);

	keep_name(s, z);
	s->bytes += z->bytes;
	s->file_bytes += z->file_bytes;
	s->anon_bytes += z->anon_bytes;
	s->shmem_bytes += z->shmem_bytes;
	s->slab_bytes += z->slab_bytes;
	s->swap_bytes += z->swap_bytes;
	s->unevictable_bytes += z->unevictable_bytes;
	s->empty += !z->bytes;
	/* once per zombie and kind */
	uint64_t seen = 0;
	for (size_t i = 0; i < z->n_pins; i++) {
		struct census_pin_sum *sum = &s->by_pin[z->pins[i].kind];
		sum->bytes += z->pins[i].bytes;
		sum->zombies += !(seen & 1u << z->pins[i].kind);
		seen |= 1u << z->pins[i].kind;
	}
	if (!g) {
		s->other_groups++;
		return s->groups.len >= CENSUS_MOST_GROUPS;
	}
	compare_names(g, &z->owner);
	g->count++;
	g->bytes += z->bytes;
	if (z->serial < g->first_serial)
		g->first_serial = z->serial;
	if (z->serial > g->last_serial)
		g->last_serial = z->serial;
	return true;
}

static int largest_first(const void *a, const void *b)
{
	const struct census_group *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->owner, y->owner);
}

void census_summary_finish(struct census_summary *s)
{
	vec_sort(&s->groups, largest_first);
	map_str_free(&s->by_owner); /* its indexes are stale now */
	s->by_owner = (struct map_str){ 0 };
}

void census_summary_free(struct census_summary *s)
{
	vec_free(&s->groups);
	for (size_t i = 0; i < s->n_names; i++)
		free(s->names[i].path);
	map_str_free(&s->by_owner);
	buf_free(&s->scratch);
	arena_free(&s->strings);
}

static void put_str(struct buf *out, const char *text)
{
	wire_put_bytes(out, text ? text : "", text ? strlen(text) : 0);
}

/* The numbers in the order of the frame; new ones only at the end. */
#define NUMBERS(s)                                                                           \
	{                                                                                    \
		&(s)->have, &(s)->time_ns, &(s)->tracked, &(s)->live, &(s)->dying,           \
			&(s)->kernel_count, &(s)->bytes, &(s)->file_bytes, &(s)->anon_bytes, \
			&(s)->shmem_bytes, &(s)->slab_bytes, &(s)->swap_bytes,               \
			&(s)->unevictable_bytes, &(s)->max_serial, &(s)->empty,              \
			&(s)->percpu_bytes, &(s)->other_groups                               \
	}
enum { N_NUMBERS = 17 };

void census_summary_encode(struct buf *out, const struct census_summary *s, size_t most)
{
	const uint64_t *numbers[N_NUMBERS] = NUMBERS(s);
	size_t n = s->groups.len < most ? s->groups.len : most;
	uint64_t other = s->other_groups;

	for (size_t i = n; i < s->groups.len; i++)
		other += s->groups.items[i].count;
	wire_put_u64(out, s->method);
	wire_put_u64(out, s->kernel_counts_dying);
	for (size_t i = 0; i < N_NUMBERS; i++)
		wire_put_u64(out, numbers[i] == &s->other_groups ? other : *numbers[i]);
	wire_put_u64(out, n);
	for (size_t i = 0; i < n; i++) {
		const struct census_group *g = &s->groups.items[i];
		wire_put_u64(out, g->kind);
		wire_put_u64(out, g->count);
		wire_put_u64(out, g->bytes);
		put_str(out, g->owner);
		put_str(out, g->unit);
		put_str(out, g->parent);
	}
	wire_put_u64(out, s->n_names);
	for (size_t i = 0; i < s->n_names; i++) {
		const struct census_name *name = &s->names[i];
		wire_put_u64(out, name->id);
		wire_put_u64(out, name->serial);
		wire_put_u64(out, name->bytes);
		wire_put_u64(out, name->file_bytes);
		put_str(out, name->path);
	}
	wire_put_u64(out, s->slab_host_bytes); /* recordings before this end here */
	for (size_t i = 0; i < n; i++) {       /* and those before this, here */
		put_str(out, s->groups.items[i].container);
		put_str(out, s->groups.items[i].pod);
		put_str(out, s->groups.items[i].task);
	}
}

static const char *get_str(struct wire_reader *r, struct arena *strings)
{
	size_t len;
	const char *bytes = wire_get_bytes(r, &len);

	return bytes ? arena_strndup(strings, bytes, len) : NULL;
}

static int get_names(struct wire_reader *r, struct census_summary *ret)
{
	uint64_t n = wire_get_u64(r);

	if (r->failed || n > CENSUS_MOST_NAMES)
		return -EBADMSG;
	for (uint64_t i = 0; i < n; i++) {
		struct census_name name = { .id = wire_get_u64(r) };
		size_t len;

		name.serial = wire_get_u64(r);
		name.bytes = wire_get_u64(r);
		name.file_bytes = wire_get_u64(r);
		const char *path = wire_get_bytes(r, &len);
		if (r->failed || !path)
			return -EBADMSG;
		name.path = strndup(path, len);
		if (!name.path)
			return -ENOMEM;
		ret->names[ret->n_names++] = name;
	}
	return 0;
}

/* "" stands for none. */
static const char *get_name(struct wire_reader *r, struct arena *strings)
{
	const char *name = get_str(r, strings);

	return name && *name ? name : NULL;
}

static int get_group_names(struct wire_reader *r, struct census_summary *ret)
{
	if (r->at == r->end)
		return r->failed ? -EBADMSG : 0;
	vec_foreach (&ret->groups, g) {
		g->container = get_name(r, &ret->strings);
		g->pod = get_name(r, &ret->strings);
		g->task = get_name(r, &ret->strings);
	}
	return r->failed ? -EBADMSG : 0;
}

int census_summary_decode(const void *bytes, size_t len, struct census_summary *ret)
{
	uint64_t *numbers[N_NUMBERS] = NUMBERS(ret);
	struct wire_reader r;

	wire_open(&r, bytes, len);
	ret->method = wire_get_u64(&r);
	ret->kernel_counts_dying = wire_get_u64(&r);
	for (size_t i = 0; i < N_NUMBERS; i++)
		*numbers[i] = wire_get_u64(&r);
	uint64_t n = wire_get_u64(&r);
	if (r.failed || n > CENSUS_MOST_GROUPS || ret->method > CENSUS_BY_CGROUP_STAT)
		return -EBADMSG;
	for (uint64_t i = 0; i < n; i++) {
		struct census_group g = { .kind = wire_get_u64(&r) };
		g.count = wire_get_u64(&r);
		g.bytes = wire_get_u64(&r);
		g.owner = get_str(&r, &ret->strings);
		g.unit = get_str(&r, &ret->strings);
		g.parent = get_str(&r, &ret->strings);
		if (r.failed || !g.owner || !g.parent || g.kind >= OWNER_KIND_END)
			return -EBADMSG;
		if (g.unit && !*g.unit)
			g.unit = NULL;
		if (!vec_push(&ret->groups, g))
			return -ENOMEM;
	}
	int names = get_names(&r, ret);
	if (names < 0)
		return names;
	ret->have &= r.at == r.end ? ~(uint64_t)CENSUS_SLAB : ~UINT64_C(0);
	ret->slab_host_bytes = r.at == r.end ? 0 : wire_get_u64(&r);
	return get_group_names(&r, ret);
}

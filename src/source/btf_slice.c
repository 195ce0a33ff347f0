#include "btf_slice.h"

#include <errno.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "vec.h"

/* const volatile const ...: more in a row is no kernel's */
enum { BTF_MOST_MODIFIERS = 32, BTF_MOST_TYPES = 1 << 21 };
/* All 130,000 would fill a cache that the pass over them needs. */
enum { BTF_INDEX_EVERY = 16 };
/* Stands for every pointer. */
#define BTF_VOID_POINTER UINT32_MAX
/* younger than the oldest headers that this is built with */
#define BTF_ENUM64_KIND 19u

struct slicing {
	const char *types; /* the type section */
	size_t types_len;
	const char *strings;
	size_t strings_len;
	const struct map_str *names;
	VEC(uint32_t) at;      /* offset of each BTF_INDEX_EVERY-th type */
	uint32_t n_types;      /* with void */
	uint64_t begins[1024]; /* bit per first two bytes of a name that is looked for */
	struct map_u64 taken;  /* old id → new id */
	struct map_u64 whole;  /* what a wanted typedef stands for */
	VEC(uint32_t) queue;   /* old ids in the order of the new ones, from 1 */
	struct buf out, out_strings;
	bool bad;
};

/* Bytes behind the head of a type: `once`, and `each` for each of its parts. */
static const struct {
	uint8_t known, once, each;
} kind_sizes[32] = {
	[BTF_KIND_PTR] = { 1, 0, 0 },
	[BTF_KIND_FWD] = { 1, 0, 0 },
	[BTF_KIND_TYPEDEF] = { 1, 0, 0 },
	[BTF_KIND_VOLATILE] = { 1, 0, 0 },
	[BTF_KIND_CONST] = { 1, 0, 0 },
	[BTF_KIND_RESTRICT] = { 1, 0, 0 },
	[BTF_KIND_FUNC] = { 1, 0, 0 },
	[BTF_KIND_FLOAT] = { 1, 0, 0 },
	[BTF_KIND_TYPE_TAG] = { 1, 0, 0 },
	[BTF_KIND_INT] = { 1, 4, 0 },
	[BTF_KIND_VAR] = { 1, 4, 0 },
	[BTF_KIND_DECL_TAG] = { 1, 4, 0 },
	[BTF_KIND_ARRAY] = { 1, sizeof(struct btf_array), 0 },
	[BTF_KIND_STRUCT] = { 1, 0, sizeof(struct btf_member) },
	[BTF_KIND_UNION] = { 1, 0, sizeof(struct btf_member) },
	[BTF_KIND_ENUM] = { 1, 0, sizeof(struct btf_enum) },
	[BTF_KIND_FUNC_PROTO] = { 1, 0, sizeof(struct btf_param) },
	[BTF_KIND_DATASEC] = { 1, 0, sizeof(struct btf_var_secinfo) },
	[BTF_ENUM64_KIND] = { 1, 0, 12 },
};

static size_t tail_bytes(uint32_t info)
{
	uint32_t kind = BTF_INFO_KIND(info);

	return kind_sizes[kind].once + (size_t)kind_sizes[kind].each * BTF_INFO_VLEN(info);
}

static const char *name_at(const struct slicing *s, uint32_t offset)
{
	return offset < s->strings_len ? s->strings + offset : "";
}

static bool is_named(const struct slicing *s, const char *name)
{
	return *name && map_str_get(s->names, name, strlen(name));
}

static uint16_t beginning(const char *name)
{
	uint16_t two;

	memcpy(&two, name, sizeof(two));
	return two;
}

static void look_for(struct slicing *s, const char *name)
{
	s->begins[beginning(name) / 64] |= UINT64_C(1) << beginning(name) % 64;
}

/* Most names are not looked for, and this tells without their length. The last byte of the strings
 * ends one, so that nothing starts there but the empty name. */
static bool may_be_looked_for(const struct slicing *s, uint32_t offset)
{
	if (offset >= s->strings_len - 1)
		return false;
	uint16_t two = beginning(s->strings + offset);
	return s->begins[two / 64] >> two % 64 & 1;
}

static size_t offset_of(const struct slicing *s, uint32_t id)
{
	size_t at = s->at.items[id / BTF_INDEX_EVERY];

	for (uint32_t i = id / BTF_INDEX_EVERY * BTF_INDEX_EVERY; i < id; i++) {
		struct btf_type t;
		if (!i) /* void has no record */
			continue;
		memcpy(&t, s->types + at, sizeof(t));
		at += sizeof(t) + tail_bytes(t.info);
	}
	return at;
}

/* The type's record, whole: the index was made of whole ones only. */
static struct btf_type type_at(const struct slicing *s, uint32_t id)
{
	struct btf_type t = { 0 };

	if (id && id < s->n_types)
		memcpy(&t, s->types + offset_of(s, id), sizeof(t));
	return t;
}

static uint32_t take(struct slicing *s, uint32_t old)
{
	bool made;
	uint64_t *at = map_u64_put(&s->taken, old, &made);

	if (!at || (made && !vec_push(&s->queue, old))) {
		s->bad = true;
		return 0;
	}
	if (made)
		*at = s->queue.len;
	return (uint32_t)*at;
}

/* The new id of what a member or an element is made of. */
static uint32_t refer(struct slicing *s, uint32_t old)
{
	for (unsigned i = 0; old && i < BTF_MOST_MODIFIERS; i++) {
		if (old >= s->n_types)
			break;
		struct btf_type t = type_at(s, old);
		switch (BTF_INFO_KIND(t.info)) {
		case BTF_KIND_CONST:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_RESTRICT:
		case BTF_KIND_TYPE_TAG:
		case BTF_KIND_TYPEDEF:
			old = t.type;
			continue;
		case BTF_KIND_PTR:
			return take(s, BTF_VOID_POINTER);
		case BTF_KIND_INT:
		case BTF_KIND_FLOAT:
		case BTF_KIND_ENUM:
		case BTF_ENUM64_KIND:
		case BTF_KIND_ARRAY:
		case BTF_KIND_STRUCT:
		case BTF_KIND_UNION:
		case BTF_KIND_FWD:
			return take(s, old);
		default:
			s->bad = true;
			return 0;
		}
	}
	s->bad |= old != 0;
	return 0;
}

static uint32_t put_name(struct slicing *s, uint32_t offset)
{
	const char *name = name_at(s, offset);
	uint32_t at = (uint32_t)s->out_strings.len;

	if (!*name)
		return 0;
	buf_add(&s->out_strings, name, strlen(name) + 1);
	return at;
}

static void put_members(struct slicing *s, const char *tail, uint32_t vlen)
{
	for (uint32_t i = 0; i < vlen; i++) {
		struct btf_member m;
		memcpy(&m, tail + i * sizeof(m), sizeof(m));
		m.name_off = put_name(s, m.name_off);
		m.type = refer(s, m.type);
		buf_add(&s->out, &m, sizeof(m));
	}
}

/* Both kinds of enumerators begin with the name; the rest is copied. */
static void put_enumerators(struct slicing *s, const char *tail, uint32_t vlen, size_t size)
{
	for (uint32_t i = 0; i < vlen; i++) {
		uint32_t words[3];
		memcpy(words, tail + i * size, size);
		words[0] = put_name(s, words[0]);
		buf_add(&s->out, words, size);
	}
}

static void put_array(struct slicing *s, const char *tail)
{
	struct btf_array a;

	memcpy(&a, tail, sizeof(a));
	a.type = refer(s, a.type);
	a.index_type = refer(s, a.index_type);
	buf_add(&s->out, &a, sizeof(a));
}

static void put_type(struct slicing *s, uint32_t old)
{
	struct btf_type t = type_at(s, old);
	uint32_t kind = BTF_INFO_KIND(t.info), vlen = BTF_INFO_VLEN(t.info);
	const char *name = name_at(s, t.name_off), *tail;

	if (old == BTF_VOID_POINTER) {
		t = (struct btf_type){ .info = (uint32_t)BTF_KIND_PTR << 24 };
		buf_add(&s->out, &t, sizeof(t));
		return;
	}
	tail = s->types + offset_of(s, old) + sizeof(t);
	t.name_off = put_name(s, t.name_off);
	/* embedded types that nobody asked for count by their size only */
	bool whole = !*name || is_named(s, name) || map_u64_get(&s->whole, old);
	switch (kind) {
	case BTF_KIND_TYPEDEF:
		t.type = refer(s, t.type);
		buf_add(&s->out, &t, sizeof(t));
		break;
	case BTF_KIND_INT:
		buf_add(&s->out, &t, sizeof(t));
		buf_add(&s->out, tail, 4);
		break;
	case BTF_KIND_ARRAY:
		buf_add(&s->out, &t, sizeof(t));
		put_array(s, tail);
		break;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_ENUM64_KIND:
		if (!whole)
			t.info = kind << 24;
		buf_add(&s->out, &t, sizeof(t));
		if (whole && (kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION))
			put_members(s, tail, vlen);
		else if (whole)
			put_enumerators(s, tail, vlen, kind == BTF_KIND_ENUM ? 8 : 12);
		break;
	default: /* FLOAT, FWD */
		buf_add(&s->out, &t, sizeof(t));
	}
}

/* refcount_t is asked for by that name, but what has the members is struct refcount_struct. */
static void mark_whole(struct slicing *s)
{
	size_t n = s->queue.len;
	bool made;

	for (size_t i = 0; i < n; i++) {
		uint32_t id = s->queue.items[i];
		for (unsigned k = 0; id && k < BTF_MOST_MODIFIERS; k++) {
			struct btf_type t = type_at(s, id);
			uint32_t kind = BTF_INFO_KIND(t.info);
			if (kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_CONST ||
			    kind == BTF_KIND_VOLATILE)
				id = t.type;
			else
				break;
		}
		if (id != s->queue.items[i] && !map_u64_put(&s->whole, id, &made))
			s->bad = true;
	}
}

static const uint32_t find_kinds[] = { [BTF_SLICE_STRUCT] = BTF_KIND_STRUCT,
				       [BTF_SLICE_FUNC] = BTF_KIND_FUNC,
				       [BTF_SLICE_VARIABLE] = BTF_KIND_VAR };

static void find_ids(const struct slicing *s, const struct btf_type *t, uint32_t id,
		     struct btf_slice_find *finds, size_t n_finds)
{
	for (size_t i = 0; i < n_finds; i++)
		if (find_kinds[finds[i].what] == BTF_INFO_KIND(t->info) &&
		    strcmp(name_at(s, t->name_off), finds[i].name) == 0)
			finds[i].id = id;
}

/* A section stands behind its variables. */
static void place_variables(const char *tail, uint32_t vlen, struct btf_slice_find *finds,
			    size_t n_finds)
{
	for (uint32_t k = 0; k < vlen; k++) {
		struct btf_var_secinfo v;
		memcpy(&v, tail + k * sizeof(v), sizeof(v));
		for (size_t i = 0; i < n_finds; i++) {
			if (finds[i].what != BTF_SLICE_VARIABLE || finds[i].id != v.type || !v.type)
				continue;
			finds[i].offset = v.offset;
			finds[i].placed = true;
		}
	}
}

#define KINDS_WITH_MEMBERS \
	(1u << BTF_KIND_STRUCT | 1u << BTF_KIND_UNION | 1u << BTF_KIND_ENUM | 1u << BTF_ENUM64_KIND)
#define KINDS_TAKEN (KINDS_WITH_MEMBERS | 1u << BTF_KIND_TYPEDEF)
/* Nothing behind their heads. */
#define KINDS_BARE                                                                  \
	(1u << BTF_KIND_PTR | 1u << BTF_KIND_FWD | 1u << BTF_KIND_TYPEDEF |         \
	 1u << BTF_KIND_VOLATILE | 1u << BTF_KIND_CONST | 1u << BTF_KIND_RESTRICT | \
	 1u << BTF_KIND_FUNC)

/* A type that may have a name that is looked for. */
static void look_at_type(struct slicing *s, const char *at, uint32_t id,
			 struct btf_slice_find *finds, size_t n_finds)
{
	struct btf_type t;

	memcpy(&t, at, sizeof(t));
	uint32_t kind = BTF_INFO_KIND(t.info);
	find_ids(s, &t, id, finds, n_finds);
	if (KINDS_TAKEN >> kind & 1 && is_named(s, name_at(s, t.name_off)))
		take(s, id);
}

/* Where the types lie; those with a wanted name are taken. */
static int index_types(struct slicing *s, struct btf_slice_find *finds, size_t n_finds,
		       struct err *err)
{
	uint32_t looked_at = KINDS_TAKEN;
	uint32_t id = 1;
	const char *at = s->types, *end = at + s->types_len;

	for (size_t i = 0; i < n_finds; i++) {
		looked_at |= 1u << find_kinds[finds[i].what];
		look_for(s, finds[i].name);
	}
	if (!vec_push(&s->at, 0))
		return err_set(err, -ENOMEM, "out of memory");
	for (; (size_t)(end - at) >= sizeof(struct btf_type); id++) {
		const char *this = at;
		uint32_t head[2]; /* name, info */
		memcpy(head, this, sizeof(head));
		uint32_t kind = BTF_INFO_KIND(head[1]);
		if (id % BTF_INDEX_EVERY == 0 &&
		    (id >= BTF_MOST_TYPES || !vec_push(&s->at, (uint32_t)(this - s->types))))
			return err_set(err, -ENOMEM, "BTF: too many types");
		at += sizeof(struct btf_type);
		/* a branch, because it lets the processor run ahead to the next type */
		if (!(KINDS_BARE >> kind & 1)) {
			size_t tail = tail_bytes(head[1]);
			if (!kind_sizes[kind].known)
				return err_set(err, -EOPNOTSUPP, "BTF: kind %u is not known", kind);
			if (tail > (size_t)(end - at))
				return err_set(err, -EBADMSG, "BTF: a type is cut off");
			if (kind == BTF_KIND_DATASEC)
				place_variables(at, BTF_INFO_VLEN(head[1]), finds, n_finds);
			at += tail;
		}
		if (looked_at >> kind & 1 && may_be_looked_for(s, head[0]))
			look_at_type(s, this, id, finds, n_finds);
	}
	s->n_types = id;
	return 0;
}

static void put_header(const struct slicing *s, struct buf *ret)
{
	struct btf_header h = {
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.hdr_len = sizeof(h),
		.type_len = (uint32_t)s->out.len,
		.str_off = (uint32_t)s->out.len,
		.str_len = (uint32_t)s->out_strings.len,
	};

	buf_add(ret, &h, sizeof(h));
	buf_add(ret, buf_str(&s->out), s->out.len);
	buf_add(ret, buf_str(&s->out_strings), s->out_strings.len);
}

static int find_sections(struct slicing *s, const char *blob, size_t len, struct err *err)
{
	struct btf_header h;

	if (len < sizeof(h))
		return err_set(err, -EBADMSG, "BTF: too short");
	memcpy(&h, blob, sizeof(h));
	if (h.magic != BTF_MAGIC || h.version != BTF_VERSION || h.hdr_len < sizeof(h) ||
	    h.hdr_len > len)
		return err_set(err, -EBADMSG, "BTF: no header of version 1");
	size_t rest = len - h.hdr_len;
	if (h.type_off > rest || h.type_len > rest - h.type_off || h.str_off > rest ||
	    h.str_len > rest - h.str_off || !h.str_len ||
	    blob[h.hdr_len + h.str_off + h.str_len - 1] != '\0')
		return err_set(err, -EBADMSG, "BTF: sections do not fit");
	s->types = blob + h.hdr_len + h.type_off;
	s->types_len = h.type_len;
	s->strings = blob + h.hdr_len + h.str_off;
	s->strings_len = h.str_len;
	return 0;
}

static void slicing_free(struct slicing *s)
{
	vec_free(&s->at);
	vec_free(&s->queue);
	map_u64_free(&s->taken);
	map_u64_free(&s->whole);
	buf_free(&s->out);
	buf_free(&s->out_strings);
}

int btf_slice_make(const void *blob, size_t len, const struct map_str *names,
		   struct btf_slice_find *finds, size_t n_finds, struct buf *ret, struct err *err)
{
	AUTO(slicing_free) struct slicing s = { .names = names };

	int r = find_sections(&s, blob, len, err);
	if (r < 0)
		return r;
	buf_add_char(&s.out_strings, '\0');
	const char *name;
	size_t name_len;
	uint64_t *value;
	for (size_t at = 0; map_str_next(names, &at, &name, &name_len, &value);)
		look_for(&s, name);
	r = index_types(&s, finds, n_finds, err);
	if (r < 0)
		return r;
	mark_whole(&s);
	for (size_t i = 0; i < s.queue.len && !s.bad; i++)
		put_type(&s, s.queue.items[i]);
	if (s.bad)
		return err_set(err, -EBADMSG, "BTF: a type refers to what it cannot");
	buf_clear(ret);
	put_header(&s, ret);
	if (s.out.failed || s.out_strings.failed || ret->failed)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

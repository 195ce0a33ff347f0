#include "profile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "map.h"
#include "text.h"

struct profile_index_slot {
	uint32_t hash;
	uint32_t id; /* 0 = free: entry 0 of a dictionary is never interned */
};

typedef bool (*profile_same_fn)(const struct profile *p, uint32_t id, const void *key);

static bool index_grow(struct profile_index *ix)
{
	if (ix->cap && ix->len < ix->cap / 4 * 3)
		return true;
	size_t cap = ix->cap ? ix->cap * 2 : 64;
	struct profile_index_slot *slots = calloc(cap, sizeof(*slots));
	if (!slots)
		return false;
	for (size_t i = 0; i < ix->cap; i++) {
		if (!ix->slots[i].id)
			continue;
		size_t at = ix->slots[i].hash & (cap - 1);
		while (slots[at].id)
			at = (at + 1) & (cap - 1);
		slots[at] = ix->slots[i];
	}
	free(ix->slots);
	ix->slots = slots;
	ix->cap = cap;
	return true;
}

/* The slot of the key: its id is 0 when the key is new. NULL when out of memory. */
static struct profile_index_slot *index_find(struct profile *p, struct profile_index *ix,
					     uint64_t hash64, profile_same_fn same, const void *key)
{
	uint32_t hash = (uint32_t)(hash64 ^ hash64 >> 32);

	if (!index_grow(ix)) {
		p->out_of_memory = true;
		return NULL;
	}
	size_t at = hash & (ix->cap - 1);
	while (ix->slots[at].id) {
		if (ix->slots[at].hash == hash && same(p, ix->slots[at].id, key))
			return &ix->slots[at];
		at = (at + 1) & (ix->cap - 1);
	}
	ix->slots[at].hash = hash;
	return &ix->slots[at];
}

/* Push a new entry and give it to the slot; its id, or 0 over a bound or out of memory. */
#define PROFILE_PUSH(p, table, slot, ix, ...)                     \
	({                                                        \
		uint32_t pushed = 0;                              \
		if ((p)->table.len >= PROFILE_MAX_ENTRIES) {      \
			(p)->dropped++;                           \
		} else if (!vec_push(&(p)->table, __VA_ARGS__)) { \
			(p)->out_of_memory = true;                \
		} else {                                          \
			pushed = (uint32_t)(p)->table.len - 1;    \
			(slot)->id = pushed;                      \
			(ix)->len++;                              \
		}                                                 \
		pushed;                                           \
	})

int profile_init(struct profile *p)
{
	*p = (struct profile){ 0 };
	if (!vec_push(&p->strings, (struct profile_string){ .text = "" }) ||
	    !vec_push(&p->modules, (struct profile_module){ 0 }) ||
	    !vec_push(&p->frames, (struct profile_frame){ 0 }) ||
	    !vec_push(&p->stacks, (struct profile_stack){ 0 }) ||
	    !vec_push(&p->cgroups, (struct profile_cgroup){ 0 })) {
		profile_free(p);
		return -ENOMEM;
	}
	return 0;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	vec_free(&p->strings);
	vec_free(&p->modules);
	vec_free(&p->frames);
	vec_free(&p->stacks);
	vec_free(&p->cgroups);
	vec_free(&p->samples);
	vec_free(&p->meta.events);
	vec_free(&p->meta.cpu_seconds);
	free(p->string_index.slots);
	free(p->module_index.slots);
	free(p->frame_index.slots);
	free(p->stack_index.slots);
	free(p->cgroup_index.slots);
	arena_free(&p->text);
	*p = (struct profile){ 0 };
}

bool profile_failed(const struct profile *p)
{
	return p->out_of_memory;
}

static bool same_string(const struct profile *p, uint32_t id, const void *key)
{
	const struct profile_string *have = &p->strings.items[id], *want = key;
	return have->len == want->len && memcmp(have->text, want->text, want->len) == 0;
}

uint32_t profile_add_string(struct profile *p, const char *bytes, size_t len)
{
	if (len > PROFILE_MAX_NAME)
		len = PROFILE_MAX_NAME;
	const char *nul = len ? memchr(bytes, '\0', len) : NULL;
	if (nul)
		len = (size_t)(nul - bytes);
	if (!len)
		return 0;
	struct profile_string key = { bytes, (uint32_t)len };
	struct profile_index_slot *slot =
		index_find(p, &p->string_index, hash_bytes(bytes, len), same_string, &key);
	if (!slot || slot->id)
		return slot ? slot->id : 0;
	key.text = arena_strndup(&p->text, bytes, len);
	if (!key.text) {
		p->out_of_memory = true;
		return 0;
	}
	return PROFILE_PUSH(p, strings, slot, &p->string_index, key);
}

uint32_t profile_add_text(struct profile *p, const char *text)
{
	return text ? profile_add_string(p, text, strnlen(text, PROFILE_MAX_NAME)) : 0;
}

static bool same_module(const struct profile *p, uint32_t id, const void *key)
{
	const struct profile_module *have = &p->modules.items[id], *want = key;
	return have->name == want->name && have->build_id_len == want->build_id_len &&
	       memcmp(have->build_id, want->build_id, want->build_id_len) == 0;
}

uint32_t profile_add_module(struct profile *p, uint32_t name, const void *build_id,
			    size_t build_id_len)
{
	struct profile_module key = { .name = name };

	if (build_id && build_id_len) {
		key.build_id_len = (uint8_t)MIN_OF(build_id_len, (size_t)PROFILE_MAX_BUILD_ID);
		memcpy(key.build_id, build_id, key.build_id_len);
	}
	if (!name && !key.build_id_len)
		return 0;
	uint64_t hash = hash_u64(hash_bytes(key.build_id, key.build_id_len) ^ name);
	struct profile_index_slot *slot = index_find(p, &p->module_index, hash, same_module, &key);
	if (!slot || slot->id)
		return slot ? slot->id : 0;
	return PROFILE_PUSH(p, modules, slot, &p->module_index, key);
}

static bool same_frame(const struct profile *p, uint32_t id, const void *key)
{
	const struct profile_frame *have = &p->frames.items[id], *want = key;
	return have->symbol == want->symbol && have->module == want->module &&
	       have->address == want->address && have->symbol_offset == want->symbol_offset &&
	       have->kind == want->kind && have->inlined == want->inlined &&
	       have->final == want->final;
}

uint32_t profile_add_frame(struct profile *p, const struct profile_frame *frame)
{
	uint64_t hash = hash_u64((uint64_t)frame->symbol << 32 | frame->module);

	hash = hash_u64(hash ^ frame->address ^ (uint64_t)frame->symbol_offset << 48 ^
			(uint64_t)frame->kind << 8 ^ (uint64_t)frame->inlined << 16);
	struct profile_index_slot *slot = index_find(p, &p->frame_index, hash, same_frame, frame);
	if (!slot || slot->id)
		return slot ? slot->id : 0;
	return PROFILE_PUSH(p, frames, slot, &p->frame_index, *frame);
}

static bool same_stack(const struct profile *p, uint32_t id, const void *key)
{
	const struct profile_stack *have = &p->stacks.items[id], *want = key;
	return have->parent == want->parent && have->frame == want->frame;
}

static struct profile_index_slot *stack_slot(struct profile *p, const struct profile_stack *key)
{
	uint64_t hash = hash_u64((uint64_t)key->parent << 32 | key->frame);
	return index_find(p, &p->stack_index, hash, same_stack, key);
}

/* What profile_append_stack() left out: entry 0 is never in the index. */
static void index_appended(struct profile *p)
{
	for (size_t i = p->stack_index.len + 1 + p->twins; i < p->stacks.len; i++) {
		struct profile_index_slot *slot = stack_slot(p, &p->stacks.items[i]);
		if (!slot)
			return;
		if (slot->id) { /* damage made two of them equal: the first one counts */
			p->twins++;
			continue;
		}
		slot->id = (uint32_t)i;
		p->stack_index.len++;
	}
}

/* False: stack 0, or the parent's own where the stack is too deep. */
static bool stack_key(struct profile *p, uint32_t parent, uint32_t frame, struct profile_stack *ret,
		      uint32_t *ret_instead)
{
	*ret_instead = 0;
	if (parent >= p->stacks.len || frame >= p->frames.len)
		return false;
	*ret = (struct profile_stack){ parent, frame, p->stacks.items[parent].depth + 1 };
	if (ret->depth <= PROFILE_MAX_DEPTH)
		return true;
	p->dropped++;
	*ret_instead = parent;
	return false;
}

uint32_t profile_add_stack(struct profile *p, uint32_t parent, uint32_t frame)
{
	struct profile_stack key;
	uint32_t instead;

	if (!stack_key(p, parent, frame, &key, &instead))
		return instead;
	if (p->stack_index.len + 1 + p->twins < p->stacks.len)
		index_appended(p);
	struct profile_index_slot *slot = stack_slot(p, &key);
	if (!slot || slot->id)
		return slot ? slot->id : 0;
	return PROFILE_PUSH(p, stacks, slot, &p->stack_index, key);
}

uint32_t profile_append_stack(struct profile *p, uint32_t parent, uint32_t frame)
{
	struct profile_stack key;
	uint32_t instead;

	if (!stack_key(p, parent, frame, &key, &instead))
		return instead;
	if (p->stacks.len >= PROFILE_MAX_ENTRIES) {
		p->dropped++;
		return 0;
	}
	if (!vec_push(&p->stacks, key)) {
		p->out_of_memory = true;
		return 0;
	}
	return (uint32_t)p->stacks.len - 1;
}

uint32_t profile_add_chain(struct profile *p, const uint32_t *frames_leaf_first, size_t n)
{
	uint32_t stack = 0;

	while (n-- > 0)
		stack = profile_add_stack(p, stack, frames_leaf_first[n]);
	return stack;
}

static bool same_cgroup(const struct profile *p, uint32_t id, const void *key)
{
	const struct profile_cgroup *have = &p->cgroups.items[id], *want = key;
	return have->id == want->id && have->path == want->path;
}

uint32_t profile_add_cgroup(struct profile *p, uint64_t id, uint32_t path)
{
	struct profile_cgroup key = { .id = id, .path = path };

	if (!id && !path)
		return 0;
	struct profile_index_slot *slot = index_find(
		p, &p->cgroup_index, hash_u64(id ^ (uint64_t)path << 40), same_cgroup, &key);
	if (!slot || slot->id)
		return slot ? slot->id : 0;
	return PROFILE_PUSH(p, cgroups, slot, &p->cgroup_index, key);
}

uint8_t profile_add_event(struct profile *p, const char *name)
{
	uint32_t string = profile_add_text(p, name);

	for (size_t i = 0; i < p->meta.events.len; i++)
		if (p->meta.events.items[i] == string)
			return (uint8_t)i;
	if (p->meta.events.len >= 256) {
		p->dropped++;
		return 255;
	}
	if (!vec_push(&p->meta.events, string)) {
		p->out_of_memory = true;
		return 0;
	}
	return (uint8_t)(p->meta.events.len - 1);
}

bool profile_add_sample(struct profile *p, const struct profile_sample *sample)
{
	if (vec_push(&p->samples, *sample))
		return true;
	p->out_of_memory = true;
	return false;
}

static bool profile_sorted(const struct profile *p)
{
	for (size_t i = 1; i < p->samples.len; i++)
		if (p->samples.items[i].time_ns < p->samples.items[i - 1].time_ns)
			return false;
	return true;
}

/* Bottom-up merge sort: stable, and samples come as a few sorted runs (one per ring). */
void profile_sort(struct profile *p)
{
	size_t n = p->samples.len;

	if (profile_sorted(p))
		return;
	struct profile_sample *from = p->samples.items, *spare = calloc(n, sizeof(*spare));
	if (!spare) {
		p->out_of_memory = true;
		return;
	}
	struct profile_sample *to = spare;
	for (size_t width = 1; width < n; width *= 2) {
		for (size_t start = 0; start < n; start += 2 * width) {
			size_t a = start, a_end = MIN_OF(start + width, n);
			size_t b = a_end, b_end = MIN_OF(start + 2 * width, n);
			for (size_t at = start; at < b_end; at++) {
				bool left = a < a_end &&
					    (b >= b_end || from[a].time_ns <= from[b].time_ns);
				to[at] = left ? from[a++] : from[b++];
			}
		}
		struct profile_sample *swap = from;
		from = to;
		to = swap;
	}
	if (from != p->samples.items)
		memcpy(p->samples.items, from, n * sizeof(*from));
	free(spare);
}

const char *profile_text(const struct profile *p, uint32_t string)
{
	return string < p->strings.len ? p->strings.items[string].text : "";
}

static const char *frame_module_name(const struct profile *p, const struct profile_frame *f)
{
	return f->module < p->modules.len ? profile_text(p, p->modules.items[f->module].name) : "";
}

const char *profile_frame_name(const struct profile *p, uint32_t frame, char *ret, size_t size)
{
	if (frame >= p->frames.len) {
		text_copy(ret, size, "[unknown]");
		return ret;
	}
	const struct profile_frame *f = &p->frames.items[frame];
	const char *module = frame_module_name(p, f), *slash = strrchr(module, '/');
	if (f->symbol)
		text_copy(ret, size, profile_text(p, f->symbol));
	else if (module[0] == '[')
		text_copy(ret, size, module);
	else if (module[0])
		snprintf(ret, size, "[%s]", slash && slash[1] ? slash + 1 : module);
	else
		text_copy(ret, size, "[unknown]");
	return ret;
}

const char *profile_frame_where(const struct profile *p, uint32_t frame, char *ret, size_t size)
{
	if (frame >= p->frames.len)
		return profile_frame_name(p, frame, ret, size);
	const struct profile_frame *f = &p->frames.items[frame];
	const char *module = frame_module_name(p, f);
	if (f->symbol)
		return profile_frame_name(p, frame, ret, size);
	snprintf(ret, size, "%s+0x%llx", module[0] ? module : "[unknown]",
		 (unsigned long long)f->address);
	return ret;
}

uint32_t profile_missing_ticks(const struct profile_cpu_second *row)
{
	if (row->idle == PROFILE_IDLE_UNKNOWN || row->idle >= row->expected)
		return 0;
	uint32_t busy = row->expected - row->idle;
	uint32_t came = row->received - MIN_OF(row->received_idle, row->received) + row->lost;
	uint32_t missing = busy > came ? busy - came : 0;
	return missing > row->expected / 10 ? missing : 0;
}

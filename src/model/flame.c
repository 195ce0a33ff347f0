#include "flame.h"

#include <errno.h>
#include <string.h>

#include "auto.h"
#include "text.h"

static bool has_pattern(const char *text)
{
	return strpbrk(text, "*?") != NULL;
}

static bool matches(const char *pattern, const char *text)
{
	return has_pattern(pattern) ? text_glob(pattern, text) : strcmp(pattern, text) == 0;
}

/* The path itself, or a cgroup above it. */
static bool in_cgroup(const char *pattern, const char *path)
{
	size_t len = strlen(pattern);

	if (has_pattern(pattern))
		return text_glob(pattern, path);
	while (len > 1 && pattern[len - 1] == '/')
		len--;
	return strncmp(pattern, path, len) == 0 &&
	       (path[len] == '\0' || path[len] == '/' || len == 1);
}

static bool in_unit(const char *unit, const char *path)
{
	char part[512];

	for (const char *p = path; *p;) {
		size_t len = strcspn(p, "/");
		if (len && text_copy_n(part, sizeof(part), p, len) && matches(unit, part))
			return true;
		p += len + (p[len] == '/');
	}
	return false;
}

static bool takes(const struct profile *p, const struct profile_sample *s,
		  const struct flame_filter *f)
{
	if (f->by_cpu && (!(s->have & PROFILE_HAVE_CPU) || s->cpu != f->cpu))
		return false;
	if (f->by_pid && (!(s->have & PROFILE_HAVE_PID) || s->pid != f->pid))
		return false;
	if (f->comm && !matches(f->comm, profile_text(p, s->comm)))
		return false;
	const char *path = profile_text(p, p->cgroups.items[s->cgroup].path);
	if (f->cgroup && !in_cgroup(f->cgroup, path))
		return false;
	return !f->unit || in_unit(f->unit, path);
}

/* The stack with only the frames of one side; remembered per stack. */
static uint32_t one_side(struct profile *p, struct map_u64 *known, uint32_t stack, uint8_t kind)
{
	uint32_t frames[PROFILE_MAX_DEPTH];
	size_t n = 0;
	uint64_t *slot = map_u64_put(known, stack, NULL);

	if (!slot)
		return 0;
	if (*slot)
		return (uint32_t)(*slot - 1);
	for (uint32_t s = stack; s && n < PROFILE_MAX_DEPTH; s = p->stacks.items[s].parent)
		if (p->frames.items[p->stacks.items[s].frame].kind == kind)
			frames[n++] = p->stacks.items[s].frame;
	*slot = (uint64_t)profile_add_chain(p, frames, n) + 1;
	return (uint32_t)(*slot - 1);
}

void flame_filter_apply(struct profile *p, const struct flame_filter *f)
{
	AUTO_MAP_U64 struct map_u64 known = { 0 };
	uint8_t kind = f->kernel ? PROFILE_KERNEL : PROFILE_USER;
	bool trim = f->kernel != f->user;
	size_t kept = 0;

	for (size_t i = 0; i < p->samples.len; i++) {
		struct profile_sample s = p->samples.items[i];
		if (!takes(p, &s, f))
			continue;
		if (trim) {
			s.stack = one_side(p, &known, s.stack, kind);
			if (!s.stack)
				continue;
		}
		p->samples.items[kept++] = s;
	}
	p->samples.len = kept;
}

void flame_sums_add(void *sums, struct profile *p)
{
	struct flame_sums *f = sums;
	struct profile_sample *samples = p->samples.items;
	size_t kept = f->summed;

	flame_filter_apply(p, &f->filter); /* those that are summed pass again */
	for (size_t i = f->summed; i < p->samples.len; i++) {
		bool is_new;
		uint64_t *slot = map_u64_put(
			&f->index, (uint64_t)samples[i].comm << 32 | samples[i].stack, &is_new);
		if (!slot) {
			p->out_of_memory = true;
			return;
		}
		if (is_new) {
			*slot = kept;
			samples[kept++] = samples[i];
		} else {
			samples[*slot].weight += samples[i].weight;
		}
	}
	f->summed = p->samples.len = kept;
}

void flame_sums_free(struct flame_sums *s)
{
	map_u64_free(&s->index);
}

/* Samples of one comm and stack together: far fewer than samples. */
struct pair {
	uint32_t comm, stack;
	uint64_t weight;
};

struct pairs {
	VEC(struct pair) list;
};

static int pairs_count(const struct profile *p, struct pairs *ret)
{
	AUTO_MAP_U64 struct map_u64 index = { 0 };
	bool is_new;

	for (size_t i = 0; i < p->samples.len; i++) {
		const struct profile_sample *s = &p->samples.items[i];
		uint64_t *slot = map_u64_put(&index, (uint64_t)s->comm << 32 | s->stack, &is_new);
		if (!slot)
			return -ENOMEM;
		if (is_new) {
			*slot = ret->list.len;
			if (!vec_push(&ret->list, (struct pair){ s->comm, s->stack, 0 }))
				return -ENOMEM;
		}
		ret->list.items[*slot].weight += s->weight;
	}
	return 0;
}

/* Display names by frame, added to the profile's strings once. */
static uint32_t display_name(struct profile *p, struct map_u64 *names, uint32_t frame)
{
	char text[PROFILE_MAX_NAME + 4];
	uint64_t *slot = map_u64_put(names, frame, NULL);

	if (!slot)
		return 0;
	if (!*slot)
		*slot = profile_add_text(p, profile_frame_name(p, frame, text, sizeof(text)));
	return (uint32_t)*slot;
}

struct builder {
	struct flame *flame;
	struct map_u64 index; /* parent and name → node */
	struct map_u64 names;
};

static uint32_t child_of(struct builder *b, uint32_t parent, uint32_t name, uint8_t kind)
{
	bool is_new;
	uint64_t *slot = map_u64_put(&b->index, (uint64_t)parent << 32 | name, &is_new);

	if (!slot)
		return 0;
	if (is_new) {
		struct flame_node node = {
			.name = name,
			.parent = parent,
			.depth = (uint16_t)(b->flame->nodes.items[parent].depth + 1),
			.kind = kind,
		};
		*slot = b->flame->nodes.len;
		if (!vec_push(&b->flame->nodes, node))
			return 0;
	}
	return (uint32_t)*slot;
}

static int add_pair(struct builder *b, const struct pair *pair)
{
	struct profile *p = b->flame->profile;
	uint32_t frames[PROFILE_MAX_DEPTH];
	size_t n = 0;

	for (uint32_t s = pair->stack; s && n < PROFILE_MAX_DEPTH; s = p->stacks.items[s].parent)
		frames[n++] = p->stacks.items[s].frame;
	uint32_t node = child_of(b, 0, pair->comm, PROFILE_UNKNOWN);
	for (;;) {
		if (!node)
			return -ENOMEM;
		b->flame->nodes.items[node].total += pair->weight;
		if (!n)
			break;
		uint32_t frame = frames[--n];
		node = child_of(b, node, display_name(p, &b->names, frame),
				p->frames.items[frame].kind);
	}
	b->flame->nodes.items[node].self += pair->weight;
	b->flame->nodes.items[0].total += pair->weight;
	return 0;
}

struct by_name {
	const char *name;
	uint32_t parent, node;
};

static int compare_by_name(const void *a_, const void *b_)
{
	const struct by_name *a = a_, *b = b_;

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Link children in the order of their names, as flamegraph.pl draws them. */
static int link_children(struct flame *f)
{
	struct by_name *order = calloc(f->nodes.len, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 1; i < f->nodes.len; i++)
		order[i - 1] = (struct by_name){ profile_text(f->profile, f->nodes.items[i].name),
						 f->nodes.items[i].parent, i };
	if (f->nodes.len > 1)
		qsort(order, f->nodes.len - 1, sizeof(*order), compare_by_name);
	for (size_t i = f->nodes.len - 1; i-- > 0;) {
		struct flame_node *parent = &f->nodes.items[order[i].parent];
		f->nodes.items[order[i].node].next_sibling = parent->first_child;
		parent->first_child = order[i].node;
	}
	free(order);
	return 0;
}

int flame_build(struct profile *p, struct flame *ret)
{
	struct flame flame = { .profile = p };
	struct builder b = { .flame = &flame };
	struct pairs pairs = { 0 };
	struct flame_node root = { .name = profile_add_text(p, "all") };
	int r = pairs_count(p, &pairs);

	if (r == 0 && !vec_push(&flame.nodes, root))
		r = -ENOMEM;
	for (size_t i = 0; r == 0 && i < pairs.list.len; i++)
		r = add_pair(&b, &pairs.list.items[i]);
	if (r == 0)
		r = profile_failed(p) ? -ENOMEM : link_children(&flame);
	vec_free(&pairs.list);
	map_u64_free(&b.index);
	map_u64_free(&b.names);
	if (r < 0) {
		flame_free(&flame);
		return r;
	}
	*ret = flame;
	return 0;
}

void flame_free(struct flame *f)
{
	vec_free(&f->nodes);
}

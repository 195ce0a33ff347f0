#include "diff.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "auto.h"
#include "map.h"

void diff_free(struct diff *d)
{
	flame_free(&d->flame);
	flame_free(&d->elided);
	vec_free(&d->growth);
}

/* Rounded as FlameScope does: round(v * total1 / total2). */
static uint64_t scaled(uint64_t value, uint64_t total, uint64_t base_total)
{
	return base_total ? (uint64_t)llround((double)value * (double)total / (double)base_total)
			  : 0;
}

static int index_children(const struct flame *f, struct map_u64 *index)
{
	for (uint32_t i = 1; i < f->nodes.len; i++) {
		const struct flame_node *n = &f->nodes.items[i];
		uint64_t *slot = map_u64_put(index, (uint64_t)n->parent << 32 | n->name, NULL);
		if (!slot)
			return -ENOMEM;
		*slot = i;
	}
	return 0;
}

/* Nodes of a flame are pushed parents first, so one pass maps base nodes to the window's. `where`
 * is the window's node + 1, or 0 when the window does not have it. */
static int match_nodes(struct diff *d, const struct flame *base, uint32_t *where)
{
	AUTO_MAP_U64 struct map_u64 index = { 0 };
	struct profile *p = d->flame.profile;

	if (index_children(&d->flame, &index) < 0)
		return -ENOMEM;
	where[0] = 1;
	for (uint32_t i = 0; i < base->nodes.len; i++) {
		const struct flame_node *n = &base->nodes.items[i];
		if (i && where[n->parent]) {
			uint32_t name = profile_add_text(p, profile_text(base->profile, n->name));
			uint64_t *slot =
				map_u64_get(&index, (uint64_t)(where[n->parent] - 1) << 32 | name);
			where[i] = slot ? (uint32_t)*slot + 1 : 0;
		}
		if (!where[i])
			continue;
		struct flame_node *mine = &d->flame.nodes.items[where[i] - 1];
		mine->base_self = scaled(n->self, d->weight, d->base_weight);
		mine->base_total = scaled(n->total, d->weight, d->base_weight);
	}
	return 0;
}

/* The base's tree with only those paths that end in a node that vanished. */
static int build_elided(struct diff *d, const struct flame *base, const uint32_t *where)
{
	AUTO_FREE uint32_t *to = calloc(base->nodes.len, sizeof(*to)); /* new index + 1 */
	AUTO_FREE bool *keep = calloc(base->nodes.len, sizeof(*keep));
	struct flame *e = &d->elided;

	if (!to || !keep)
		return -ENOMEM;
	for (uint32_t i = (uint32_t)base->nodes.len; i-- > 1;) {
		if (!where[i])
			keep[i] = true;
		if (keep[i])
			keep[base->nodes.items[i].parent] = true;
	}
	keep[0] = true;
	for (uint32_t i = 0; i < base->nodes.len; i++) {
		struct flame_node n = base->nodes.items[i];
		if (!keep[i])
			continue;
		n.name = profile_add_text(d->flame.profile, profile_text(base->profile, n.name));
		n.parent = i ? to[n.parent] - 1 : 0;
		n.first_child = n.next_sibling = 0;
		n.base_self = n.self;
		n.base_total = n.total;
		n.total = where[i] ? 0 : n.total;
		n.self = where[i] ? 0 : n.self;
		if (!vec_push(&e->nodes, n))
			return -ENOMEM;
		to[i] = (uint32_t)e->nodes.len;
	}
	for (uint32_t i = (uint32_t)e->nodes.len; i-- > 1;) {
		struct flame_node *n = &e->nodes.items[i], *parent = &e->nodes.items[n->parent];
		n->next_sibling = parent->first_child;
		parent->first_child = i;
	}
	/* what is still there is as wide as what vanished below it */
	for (uint32_t i = (uint32_t)base->nodes.len; i-- > 1;) {
		uint32_t parent = base->nodes.items[i].parent;
		if (keep[i] && where[parent])
			e->nodes.items[to[parent] - 1].total += e->nodes.items[to[i] - 1].total;
	}
	e->profile = d->flame.profile;
	return 0;
}

static int compare_growth(const void *a_, const void *b_)
{
	const struct diff_function *a = a_, *b = b_;
	double x = a->share - a->base_share, y = b->share - b->base_share;

	if (x != y)
		return x > y ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static struct diff_function *function_of(struct diff *d, struct map_u64 *index, uint32_t name,
					 uint32_t module, uint8_t kind)
{
	bool is_new;
	uint64_t *slot = map_u64_put(index, (uint64_t)name << 32 | module, &is_new);

	if (!slot)
		return NULL;
	if (is_new) {
		struct diff_function f = { .name = name, .module = module, .kind = kind };
		*slot = d->growth.len;
		if (!vec_push(&d->growth, f))
			return NULL;
	}
	return &d->growth.items[*slot];
}

static int build_growth(struct diff *d, struct profile *window, struct profile *base)
{
	AUTO_FLAME_TOP struct flame_top mine = { 0 }, theirs = { 0 };
	AUTO_MAP_U64 struct map_u64 index = { 0 };

	if (flame_top(window, &mine) < 0 || flame_top(base, &theirs) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < mine.functions.len; i++) {
		const struct flame_function *f = &mine.functions.items[i];
		struct diff_function *g = function_of(d, &index, f->name, f->module, f->kind);
		if (!g)
			return -ENOMEM;
		g->self = f->self;
		g->share = share(f->self, mine.weight);
	}
	for (size_t i = 0; i < theirs.functions.len; i++) {
		const struct flame_function *f = &theirs.functions.items[i];
		uint32_t name = profile_add_text(window, profile_text(base, f->name));
		uint32_t module = profile_add_text(window, profile_text(base, f->module));
		struct diff_function *g = function_of(d, &index, name, module, f->kind);
		if (!g)
			return -ENOMEM;
		g->base_self = f->self;
		g->base_share = share(f->self, theirs.weight);
	}
	vec_sort(&d->growth, compare_growth);
	return 0;
}

int diff_build(struct profile *window, struct profile *base, struct diff *ret)
{
	struct diff d = { 0 };
	AUTO_FLAME struct flame old = { 0 };
	int r = flame_build(window, &d.flame);

	if (r == 0)
		r = flame_build(base, &old);
	AUTO_FREE uint32_t *where = r == 0 ? calloc(old.nodes.len, sizeof(*where)) : NULL;
	if (r == 0 && !where)
		r = -ENOMEM;
	if (r == 0) {
		d.weight = d.flame.nodes.items[0].total;
		d.base_weight = old.nodes.items[0].total;
		r = match_nodes(&d, &old, where);
	}
	if (r == 0)
		r = build_elided(&d, &old, where);
	if (r == 0)
		r = build_growth(&d, window, base);
	if (r < 0) {
		diff_free(&d);
		return r;
	}
	*ret = d;
	return 0;
}

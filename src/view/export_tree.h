/* The call tree of a profile by names, root first: what a flame graph draws. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "map.h"
#include "profile.h"
#include "vec.h"

enum export_kind {
	EXPORT_ROOT,
	EXPORT_COMM,
	EXPORT_USER,
	EXPORT_KERNEL,
	EXPORT_JIT,
	EXPORT_INLINED,
	EXPORT_UNKNOWN,
};

struct export_node {
	const char *name;                           /* interned: equal names are the same pointer */
	uint32_t parent, first_child, next_sibling; /* 0 = none: the root is node 0 */
	uint32_t depth;                             /* 0 = root */
	enum export_kind kind;
	uint64_t total, self;
	uint64_t before; /* differential: the total in the other profile */
};

struct export_tree {
	struct arena arena;
	VEC(struct export_node) nodes;
	struct map_str ids; /* name → index in names */
	VEC(const char *) names;
	struct map_u64 children; /* parent and name → node */
	uint32_t max_depth;
	uint64_t total, before_total;
	bool differential;
	const char *event; /* that it counts; "" = unknown */
	const char *unit;  /* "samples" or the event's */
};

/* Add the samples of one event (NULL = the first one, see export_folded.h). before = into
 * node.before, for a differential graph. -ENOMEM. */
int export_tree_add(struct export_tree *t, const struct profile *p, const char *event, bool before);
/* Children by name, as flame graphs have them. Once after the last add. */
void export_tree_sort(struct export_tree *t);
void export_tree_free(struct export_tree *t);

#define AUTO_EXPORT_TREE __attribute__((cleanup(export_tree_free)))

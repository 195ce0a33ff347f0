/* What the next boot of a tree does: which units are enabled then (a first boot applies the
 * presets, which undoes a plain "disable"), which are started, and why. */
#pragma once

#include "unit_tree.h"

struct unit_boot {
	const char *name;
	enum unit_file_state state; /* now */
	bool enabled;               /* once booted */
	bool by_preset;             /* the first boot enables it */
	bool starts;                /* something reached from default.target pulls it in */
	const char *why;            /* of enabled / not enabled, with the file that shows it */
	const char *source;         /* that file or link, relative to the root */
	const char *pulled_by;      /* unit that starts it, NULL = default.target itself */
};

/* Generators do not run on an image: what they will read, and what that makes. */
struct unit_generated {
	const char *path, *makes;
};

struct unit_boot_plan {
	struct arena arena;
	VEC(struct unit_boot) units; /* sorted by name; instances and aliases too */
	struct map_str by_name;      /* → index into units */
	VEC(struct unit_generated) generated;
	bool first_boot; /* presets will be applied */
	const char *default_target;
};

int unit_boot_plan(struct unit_tree *t, struct unit_boot_plan *ret, struct err *err);
const struct unit_boot *unit_boot_find(const struct unit_boot_plan *p, const char *name);
void unit_boot_plan_free(struct unit_boot_plan *p);

#define AUTO_UNIT_BOOT_PLAN __attribute__((cleanup(unit_boot_plan_free)))

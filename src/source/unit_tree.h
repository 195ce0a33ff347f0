/* The unit files of a tree, booted or not, read as systemd would: search paths, aliases, masks,
 * drop-ins, templates and instances, wants and requires, presets, and what the first boot does with
 * them. Everything is opened through struct root; nothing outside the tree is ever read. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "map.h"
#include "root.h"
#include "unit_file.h"
#include "unit_preset.h"
#include "unknowns.h"
#include "vec.h"

enum unit_place {
	UNIT_PLACE_VENDOR,
	UNIT_PLACE_CONFIG,  /* /etc/systemd/system: where enabling puts links */
	UNIT_PLACE_CONTROL, /* /etc/systemd/system.control and attached */
	UNIT_PLACE_RUNTIME,
	UNIT_PLACE_TRANSIENT,
	UNIT_PLACE_GENERATOR,
};

enum unit_file_state {
	UNIT_STATE_BAD,
	UNIT_STATE_ENABLED,
	UNIT_STATE_ENABLED_RUNTIME,
	UNIT_STATE_LINKED,
	UNIT_STATE_LINKED_RUNTIME,
	UNIT_STATE_ALIAS,
	UNIT_STATE_MASKED,
	UNIT_STATE_MASKED_RUNTIME,
	UNIT_STATE_STATIC,
	UNIT_STATE_DISABLED,
	UNIT_STATE_INDIRECT,
	UNIT_STATE_GENERATED,
	UNIT_STATE_TRANSIENT,
	UNIT_STATE_END,
};

enum machine_id_state {
	MACHINE_ID_SET,
	MACHINE_ID_EMPTY,         /* an empty file: not a first boot */
	MACHINE_ID_ABSENT,        /* first boot: presets are applied */
	MACHINE_ID_UNINITIALIZED, /* first boot: presets are applied */
};

struct unit_at {
	const char *name;
	const char *target; /* of a link, as it stands; NULL = a file */
	unsigned dir;       /* index into dirs, the lower one wins */
	size_t next;        /* 1 + index of the same name in a later directory, 0 = none */
	size_t next_target; /* 1 + index of the next link whose target has the same last component
			     */
};

/* A link in X.wants/ or X.requires/. */
struct unit_dep {
	const char *of;   /* "multi-user.target" */
	const char *name; /* the unit that it pulls in */
	unsigned dir;
	bool requires;
	size_t next_name; /* 1 + index of the next link with that name or that template */
	size_t next_of;   /* 1 + index of the next link of the same X */
};

struct unit_install {
	struct unit_words wanted_by, required_by, aliases, also;
	const char *default_instance;
};

/* A unit as found: its file with drop-ins merged. */
struct unit_loaded {
	const char *asked; /* the name that was asked for */
	const char *name;  /* where aliases led to */
	const char *path;  /* of the file, relative to the root */
	int r;             /* negative: it could not be loaded, the reason in why */
	char why[160];
	bool masked;
	unsigned dir;
	struct unit_file file;
	struct unit_install install;
	unsigned dropins;
};

struct unit_tree {
	const struct root *root;
	struct arena arena;
	const char *dirs[16];
	enum unit_place places[16];
	size_t n_dirs;
	VEC(struct unit_at) at;
	struct map_str by_name;   /* → 1 + index into at, first directory first */
	struct map_str by_target; /* last component of a link's target → 1 + index into at */
	VEC(struct unit_dep) deps;
	struct map_str deps_by_name; /* link name, and template of an instance → 1 + index */
	struct map_str deps_by_of;
	struct map_str dropin_dirs; /* "foo.service.d" → bit per directory that has it */
	struct map_str loaded;      /* name → struct unit_loaded * */
	struct presets presets;
	enum machine_id_state machine_id;
	struct unknowns unknowns;
};

int unit_tree_read(const struct root *root, struct unit_tree **ret, struct err *err);
void unit_tree_free(struct unit_tree *t);
/* Never NULL except when out of memory; see r. */
const struct unit_loaded *unit_tree_load(struct unit_tree *t, const char *name);
/* What `systemctl --root=DIR is-enabled` says. */
enum unit_file_state unit_tree_state(struct unit_tree *t, const char *name);
const char *unit_file_state_name(enum unit_file_state state);
/* Calls back once for each unit name that has a file or link, as list-unit-files does. */
int unit_tree_each(struct unit_tree *t, int (*each)(void *arg, const char *name), void *arg);
const char *machine_id_state_name(enum machine_id_state state);

static inline void unit_tree_free_fn(struct unit_tree **t)
{
	unit_tree_free(*t);
}
#define AUTO_UNIT_TREE __attribute__((cleanup(unit_tree_free_fn)))

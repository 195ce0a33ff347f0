/* The file state of a unit ("enabled", "static", "masked" ...), found as systemd's own
 * unit_file_lookup_state() does, but from the index of unit_tree.c instead of reading every
 * directory again for each unit. */
#include <errno.h>
#include <string.h>

#include "auto.h"
#include "text.h"
#include "unit_tree.h"

static bool state_dir_runtime(const struct unit_tree *t, unsigned dir)
{
	return text_starts(t->dirs[dir], "run/");
}

static bool state_in(const struct unit_words *words, const char *name)
{
	vec_foreach (&words->list, it)
		if (strcmp(*it, name) == 0)
			return true;
	return false;
}

/* Is the link's name one that enabling this unit would make? */
static bool state_known_name(struct unit_tree *t, const struct unit_loaded *u, const char *name)
{
	if (strcmp(name, u->name) == 0 || state_in(&u->install.aliases, name))
		return true;
	if (!u->install.default_instance)
		return false;
	const char *s = unit_name_with_instance(u->name, u->install.default_instance,
						strlen(u->install.default_instance), &t->arena);
	return s && strcmp(s, name) == 0;
}

struct state_links {
	uint32_t found;     /* bit per directory with a link to the unit */
	uint32_t same_name; /* bit per directory with a link of the unit's own name to it */
};

static size_t state_first(const struct map_str *map, const char *key)
{
	const uint64_t *head = map_str_get(map, key, strlen(key));
	return head ? (size_t)(*head & UINT32_MAX) : 0;
}

static void state_find_links(struct unit_tree *t, const struct unit_loaded *u, bool match_name,
			     struct state_links *ret)
{
	const char *template = unit_name_template(u->name, &t->arena);
	bool outside = !text_starts(u->path, t->dirs[u->dir]);
	size_t i;

	*ret = (struct state_links){ 0 };
	for (i = state_first(&t->deps_by_name, template ? template : u->name); i;
	     i = t->deps.items[i - 1].next_name) {
		const struct unit_dep *d = &t->deps.items[i - 1];
		if (template && strcmp(d->name, u->name) != 0)
			continue;
		if (!match_name || state_known_name(t, u, d->name))
			ret->found |= UINT32_C(1) << d->dir;
	}
	for (i = state_first(&t->by_target, u->name); i; i = t->at.items[i - 1].next_target) {
		const struct unit_at *at = &t->at.items[i - 1];
		bool same = (outside || at->dir <= u->dir) && strcmp(at->name, u->name) == 0;
		if (same)
			ret->same_name |= UINT32_C(1) << at->dir;
		else if (!match_name || state_known_name(t, u, at->name))
			ret->found |= UINT32_C(1) << at->dir;
	}
	/* a link of this name that leads to a file of another name */
	for (i = state_first(&t->by_name, u->name); i; i = t->at.items[i - 1].next) {
		const struct unit_at *at = &t->at.items[i - 1];
		if (!at->target || !(outside || at->dir <= u->dir))
			continue;
		const char *slash = strrchr(at->target, '/');
		if (strcmp(slash ? slash + 1 : at->target, u->name) != 0)
			ret->found |= UINT32_C(1) << at->dir;
	}
}

/* 1 = *ret says how it is enabled or linked, 0 = no link was found. */
static int state_from_links(struct unit_tree *t, const struct unit_loaded *u, bool match_name,
			    enum unit_file_state *ret)
{
	struct state_links links;
	bool runtime = false, at_all = false, linked = false, linked_runtime = false;

	state_find_links(t, u, match_name, &links);
	for (unsigned d = 0; d < t->n_dirs; d++) {
		uint32_t bit = UINT32_C(1) << d;
		if (links.found & bit) {
			if (t->places[d] == UNIT_PLACE_CONFIG) {
				*ret = UNIT_STATE_ENABLED;
				return 1;
			}
			runtime = runtime || state_dir_runtime(t, d);
			at_all = at_all || !state_dir_runtime(t, d);
		} else if (links.same_name & bit) {
			linked = linked || t->places[d] == UNIT_PLACE_CONFIG;
			linked_runtime = linked_runtime || state_dir_runtime(t, d);
		}
	}
	if (runtime)
		*ret = UNIT_STATE_ENABLED_RUNTIME;
	else if (at_all && unit_name_kind(u->name) == UNIT_NAME_INSTANCE)
		*ret = UNIT_STATE_STATIC;
	else if (linked)
		*ret = UNIT_STATE_LINKED;
	else if (linked_runtime)
		*ret = UNIT_STATE_LINKED_RUNTIME;
	else
		return 0;
	return 1;
}

enum unit_file_state unit_tree_state(struct unit_tree *t, const char *name)
{
	const struct unit_loaded *u = unit_tree_load(t, name);
	enum unit_file_state state;

	if (!u || u->r < 0)
		return UNIT_STATE_BAD;
	if (u->masked)
		return state_dir_runtime(t, u->dir) ? UNIT_STATE_MASKED_RUNTIME : UNIT_STATE_MASKED;
	const char *base = strrchr(u->path, '/');
	if (strcmp(name, base ? base + 1 : u->path) != 0 &&
	    unit_name_kind(u->name) != UNIT_NAME_INSTANCE)
		return UNIT_STATE_ALIAS;
	if (t->places[u->dir] == UNIT_PLACE_GENERATOR)
		return UNIT_STATE_GENERATED;
	if (t->places[u->dir] == UNIT_PLACE_TRANSIENT)
		return UNIT_STATE_TRANSIENT;
	if (state_from_links(t, u, true, &state) > 0)
		return state;
	if (state_from_links(t, u, false, &state) > 0)
		return UNIT_STATE_INDIRECT;
	const struct unit_install *in = &u->install;
	if (in->aliases.list.len || in->wanted_by.list.len || in->required_by.list.len)
		return UNIT_STATE_DISABLED;
	return in->also.list.len ? UNIT_STATE_INDIRECT : UNIT_STATE_STATIC;
}

const char *unit_file_state_name(enum unit_file_state state)
{
	static const char *const names[] = {
		[UNIT_STATE_BAD] = "bad",
		[UNIT_STATE_ENABLED] = "enabled",
		[UNIT_STATE_ENABLED_RUNTIME] = "enabled-runtime",
		[UNIT_STATE_LINKED] = "linked",
		[UNIT_STATE_LINKED_RUNTIME] = "linked-runtime",
		[UNIT_STATE_ALIAS] = "alias",
		[UNIT_STATE_MASKED] = "masked",
		[UNIT_STATE_MASKED_RUNTIME] = "masked-runtime",
		[UNIT_STATE_STATIC] = "static",
		[UNIT_STATE_DISABLED] = "disabled",
		[UNIT_STATE_INDIRECT] = "indirect",
		[UNIT_STATE_GENERATED] = "generated",
		[UNIT_STATE_TRANSIENT] = "transient",
	};
	return state < ARRAY_LEN(names) ? names[state] : "bad";
}

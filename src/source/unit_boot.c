#include "unit_boot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "text.h"

enum { BOOT_UNITS_MOST = 200000 };

struct boot {
	struct unit_tree *tree;
	struct unit_boot_plan *plan;
	struct map_str extra_of; /* target → 1 + index into extra: links the first boot will make */
	VEC(struct unit_dep) extra;
	VEC(size_t) queue; /* units to follow, indices */
	int r;
};

static struct unit_boot *boot_add(struct boot *b, const char *name)
{
	bool is_new;
	uint64_t *at = map_str_put(&b->plan->by_name, name, strlen(name), &is_new);

	if (!at || (is_new && b->plan->units.len >= BOOT_UNITS_MOST)) {
		b->r = -ENOMEM;
		return NULL;
	}
	if (!is_new)
		return &b->plan->units.items[*at];
	struct unit_boot unit = { .name = arena_strdup(&b->plan->arena, name) };
	if (!unit.name || !vec_push(&b->plan->units, unit)) {
		b->r = -ENOMEM;
		return NULL;
	}
	*at = b->plan->units.len - 1;
	struct unit_boot *u = &b->plan->units.items[*at];
	u->state = unit_tree_state(b->tree, u->name);
	return u;
}

/* The link that enables it, for the reason. */
static const char *boot_link(struct boot *b, const char *name)
{
	struct unit_tree *t = b->tree;
	const char *template = unit_name_template(name, &t->arena);
	const char *key = template ? template : name;
	const uint64_t *head = map_str_get(&t->deps_by_name, key, strlen(key));

	for (size_t i = head ? (size_t)(*head & UINT32_MAX) : 0; i;
	     i = t->deps.items[i - 1].next_name) {
		const struct unit_dep *d = &t->deps.items[i - 1];
		if (strcmp(d->name, name) == 0 || unit_name_kind(name) == UNIT_NAME_TEMPLATE)
			return arena_printf(&b->plan->arena, "%s/%s.%s/%s", t->dirs[d->dir], d->of,
					    d->requires ? "requires" : "wants", d->name);
	}
	head = map_str_get(&t->by_target, name, strlen(name));
	for (size_t i = head ? (size_t)(*head & UINT32_MAX) : 0; i;) {
		const struct unit_at *at = &t->at.items[i - 1];
		return arena_printf(&b->plan->arena, "%s/%s", t->dirs[at->dir], at->name);
	}
	return NULL;
}

/* Remember the links that enabling makes, as install_info_apply() does. */
static void boot_apply(struct boot *b, const struct unit_loaded *u, unsigned depth)
{
	struct unit_tree *t = b->tree;
	const char *name = u->name;

	if (unit_name_kind(name) == UNIT_NAME_TEMPLATE && u->install.default_instance)
		name = unit_name_with_instance(name, u->install.default_instance,
					       strlen(u->install.default_instance), &t->arena);
	bool template = name && unit_name_kind(name) == UNIT_NAME_TEMPLATE;
	const struct unit_words *lists[] = { &u->install.wanted_by, &u->install.required_by };
	for (size_t l = 0; name && l < ARRAY_LEN(lists); l++) {
		vec_foreach (&lists[l]->list, of) {
			bool is_new;
			enum unit_name_kind kind = unit_name_kind(*of);
			if (kind == UNIT_NAME_BAD || (template && kind == UNIT_NAME_PLAIN))
				continue;
			struct unit_dep dep = { .of = *of, .name = name, .requires = l == 1 };
			uint64_t *head = map_str_put(&b->extra_of, *of, strlen(*of), &is_new);
			if (!head || !vec_push(&b->extra, dep)) {
				b->r = -ENOMEM;
				return;
			}
			b->extra.items[b->extra.len - 1].next_of = (size_t)*head;
			*head = b->extra.len;
		}
	}
	vec_foreach (&u->install.also.list, also) {
		const struct unit_loaded *other = depth < 8 ? unit_tree_load(t, *also) : NULL;
		if (other && other->r == 0 && !other->masked) {
			struct unit_boot *unit = boot_add(b, other->name);
			if (unit && !unit->enabled) {
				unit->enabled = unit->by_preset = true;
				unit->why =
					arena_printf(&b->plan->arena,
						     "first boot: Also= of %s enables it", u->name);
				unit->source = u->path;
				boot_apply(b, other, depth + 1);
			}
		}
	}
}

static bool boot_has_rules(const struct unit_loaded *u)
{
	return u->install.wanted_by.list.len || u->install.required_by.list.len ||
	       u->install.aliases.list.len || u->install.also.list.len;
}

/* enable foo@.service a b: the instances are enabled, not the template. */
static void boot_enable_instance(struct boot *b, const struct unit_loaded *template,
				 const char *instance, const struct preset_rule *rule)
{
	const char *name = unit_name_with_instance(template->name, instance, strlen(instance),
						   &b->plan->arena);
	struct unit_boot *unit = name ? boot_add(b, name) : NULL;
	const struct unit_loaded *u = unit ? unit_tree_load(b->tree, name) : NULL;

	if (!u || u->r < 0 || u->masked)
		return;
	unit->enabled = unit->by_preset = true;
	unit->why =
		arena_printf(&b->plan->arena, "first boot applies presets: /%s line %u enables it",
			     rule->file, rule->line);
	unit->source = rule->file;
	boot_apply(b, u, 0);
}

static void boot_judge_preset(struct boot *b, struct unit_boot *unit, const struct unit_loaded *u)
{
	const struct preset_rule *rule;
	bool enable = presets_enable(&b->tree->presets, unit->name, &rule);
	struct arena *arena = &b->plan->arena;
	const char *state = machine_id_state_name(b->tree->machine_id);

	if (!boot_has_rules(u)) {
		unit->why = "it has no [Install] section: nothing can enable it";
		unit->source = u->path;
		return;
	}
	if (!enable) {
		unit->why = arena_printf(arena, "preset: /%s line %u says disable", rule->file,
					 rule->line);
		unit->source = rule->file;
		return;
	}
	if (unit_name_kind(unit->name) == UNIT_NAME_TEMPLATE && !u->install.default_instance) {
		unit->why = "a template without DefaultInstance=: presets enable only its named "
			    "instances";
		unit->source = u->path;
		if (rule)
			vec_foreach (&rule->instances.list, instance)
				boot_enable_instance(b, u, *instance, rule);
		return;
	}
	unit->enabled = unit->by_preset = true;
	if (rule) {
		unit->why =
			arena_printf(arena,
				     "first boot (machine-id is %s) applies presets: /%s line %u "
				     "says enable",
				     state, rule->file, rule->line);
		unit->source = rule->file;
	} else {
		unit->why =
			arena_printf(arena,
				     "first boot (machine-id is %s) applies presets: no rule names "
				     "it, which means enable",
				     state);
		unit->source = "etc/machine-id";
	}
	boot_apply(b, u, 0);
}

static int boot_judge(void *arg, const char *name)
{
	struct boot *b = arg;
	struct unit_boot *unit = boot_add(b, name);
	const struct unit_loaded *u = unit_tree_load(b->tree, name);

	if (!unit || !u)
		return -ENOMEM;
	switch (unit->state) {
	case UNIT_STATE_ENABLED:
	case UNIT_STATE_ENABLED_RUNTIME:
		unit->enabled = true;
		unit->source = boot_link(b, name);
		unit->why = unit->source ? arena_printf(&b->plan->arena, "enabled by the link /%s",
							unit->source)
					 : "enabled";
		break;
	case UNIT_STATE_MASKED:
	case UNIT_STATE_MASKED_RUNTIME:
		unit->why = arena_printf(&b->plan->arena, "masked by /%s", u->path);
		unit->source = u->path;
		break;
	case UNIT_STATE_ALIAS:
		unit->why = arena_printf(&b->plan->arena, "alias of %s", u->name);
		unit->source = u->path;
		break;
	case UNIT_STATE_BAD:
		unit->why = arena_printf(&b->plan->arena, "cannot be loaded: %s", u->why);
		break;
	default:
		if (b->plan->first_boot && unit->state != UNIT_STATE_GENERATED &&
		    unit->state != UNIT_STATE_TRANSIENT) {
			boot_judge_preset(b, unit, u);
		} else {
			unit->why = unit_file_state_name(unit->state);
			unit->source = u->path;
		}
	}
	return b->r;
}

static void boot_pull(struct boot *b, const char *name, const char *by)
{
	const struct unit_loaded *u = unit_tree_load(b->tree, name);

	if (!u || u->r < 0 || u->masked)
		return;
	struct unit_boot *unit = boot_add(b, u->name);
	if (!unit || unit->starts)
		return;
	unit->starts = true;
	unit->pulled_by = by ? arena_strdup(&b->plan->arena, by) : NULL;
	if (!vec_push(&b->queue, (size_t)(unit - b->plan->units.items)))
		b->r = -ENOMEM;
}

/* %i of an instance, so that foo@bar pulls baz@bar. */
static const char *boot_expand(struct boot *b, const char *word, const char *unit)
{
	const char *percent = strchr(word, '%'), *at = strchr(unit, '@');

	if (!percent || !at || (percent[1] != 'i' && percent[1] != 'I'))
		return percent ? NULL : word;
	size_t len = (size_t)(unit_name_suffix(unit) - at - 1);
	return arena_printf(&b->plan->arena, "%.*s%.*s%s", (int)(percent - word), word, (int)len,
			    at + 1, percent + 2);
}

static void boot_follow(struct boot *b, const char *name)
{
	static const char *const keys[] = { "Wants", "Requires", "BindsTo", "Upholds" };
	struct unit_tree *t = b->tree;
	const struct unit_loaded *u = unit_tree_load(t, name);
	struct unit_words words = { 0 };

	for (size_t k = 0; u && k < ARRAY_LEN(keys); k++) {
		unit_file_words(&u->file, "Unit", keys[k], &t->arena, &words);
		vec_foreach (&words.list, it) {
			const char *other = boot_expand(b, *it, name);
			if (other)
				boot_pull(b, other, name);
		}
	}
	vec_free(&words.list);
	const uint64_t *head = map_str_get(&t->deps_by_of, name, strlen(name));
	for (size_t i = head ? (size_t)(*head & UINT32_MAX) : 0; i;
	     i = t->deps.items[i - 1].next_of)
		boot_pull(b, t->deps.items[i - 1].name, name);
	head = map_str_get(&b->extra_of, name, strlen(name));
	for (size_t i = head ? (size_t)*head : 0; i; i = b->extra.items[i - 1].next_of)
		boot_pull(b, b->extra.items[i - 1].name, name);
}

static void boot_generated(struct boot *b)
{
	struct unit_tree *t = b->tree;
	static const struct unit_generated inputs[] = {
		{ "etc/fstab", "mount and swap units are generated at boot" },
		{ "etc/crypttab", "systemd-cryptsetup@ units are generated at boot" },
		{ "etc/rc.local", "rc-local.service is generated at boot" },
		{ "etc/init.d", "units of SysV scripts are generated at boot" },
	};

	for (size_t i = 0; i < ARRAY_LEN(inputs); i++)
		if (root_exists(t->root, inputs[i].path))
			(void)!vec_push(&b->plan->generated, inputs[i]);
}

static int boot_compare(const void *a, const void *b)
{
	return strcmp(((const struct unit_boot *)a)->name, ((const struct unit_boot *)b)->name);
}

int unit_boot_plan(struct unit_tree *t, struct unit_boot_plan *ret, struct err *err)
{
	struct boot b = { .tree = t, .plan = ret };

	*ret = (struct unit_boot_plan){ 0 };
	ret->first_boot =
		t->machine_id == MACHINE_ID_ABSENT || t->machine_id == MACHINE_ID_UNINITIALIZED;
	int r = unit_tree_each(t, boot_judge, &b);
	const struct unit_loaded *target = unit_tree_load(t, "default.target");
	ret->default_target =
		target && target->r == 0 && !target->masked ? target->name : "multi-user.target";
	boot_pull(&b, ret->default_target, NULL);
	for (size_t i = 0; i < b.queue.len && b.r == 0; i++)
		boot_follow(&b, ret->units.items[b.queue.items[i]].name);
	boot_generated(&b);
	vec_sort(&ret->units, boot_compare);
	for (size_t i = 0; i < ret->units.len; i++)
		*map_str_put(&ret->by_name, ret->units.items[i].name,
			     strlen(ret->units.items[i].name), &(bool){ false }) = i;
	vec_free(&b.queue);
	vec_free(&b.extra);
	map_str_free(&b.extra_of);
	if (r < 0 || b.r < 0) {
		unit_boot_plan_free(ret);
		return err_set(err, -ENOMEM, "%s: too many units", t->root->path);
	}
	return 0;
}

const struct unit_boot *unit_boot_find(const struct unit_boot_plan *p, const char *name)
{
	const uint64_t *at = map_str_get(&p->by_name, name, strlen(name));
	return at ? &p->units.items[*at] : NULL;
}

void unit_boot_plan_free(struct unit_boot_plan *p)
{
	vec_free(&p->units);
	vec_free(&p->generated);
	map_str_free(&p->by_name);
	arena_free(&p->arena);
	*p = (struct unit_boot_plan){ 0 };
}

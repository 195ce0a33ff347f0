#include "unit_describe.h"

#include <errno.h>
#include <string.h>

#include "text.h"

/* The manager's own defaults; system.conf may change them. */
struct describe_defaults {
	unsigned long long restart_us, limit_us;
	uint64_t burst;
};

static void describe_read_defaults(struct unit_tree *t, struct describe_defaults *ret)
{
	AUTO_BUF struct buf text = { 0 };
	struct unit_file file = { 0 };
	const char *v;

	*ret = (struct describe_defaults){ .restart_us = 100000, .limit_us = 10000000, .burst = 5 };
	if (root_read(t->root, "etc/systemd/system.conf", 1 << 20, &text, NULL) < 0)
		return;
	(void)unit_file_parse(buf_str(&text), text.len, false, &t->arena, &file, NULL);
	if ((v = unit_file_get(&file, "Manager", "DefaultRestartSec")))
		(void)unit_file_span_us(v, &ret->restart_us);
	if ((v = unit_file_get(&file, "Manager", "DefaultStartLimitIntervalSec")))
		(void)unit_file_span_us(v, &ret->limit_us);
	if ((v = unit_file_get(&file, "Manager", "DefaultStartLimitBurst")))
		(void)text_u64(v, &ret->burst);
	unit_file_free(&file);
}

/* StartLimitInterval= and friends moved from [Service] to [Unit] in v230; both are read. */
static const char *describe_limit(const struct unit_loaded *l, const char *key, const char *old_key)
{
	const char *v = unit_file_get(&l->file, "Unit", key);

	v = v ? v : unit_file_get(&l->file, "Unit", old_key);
	v = v ? v : unit_file_get(&l->file, "Service", key);
	return v ? v : unit_file_get(&l->file, "Service", old_key);
}

static void describe(struct unit_tree *t, const struct describe_defaults *defaults,
		     const char *name, struct rec_unit_set *set, struct rec_service *u)
{
	const struct unit_loaded *l = unit_tree_load(t, name);
	unsigned long long us;
	struct unit_words lines = { 0 };
	const char *v;

	if (!l || l->r < 0 || l->masked)
		return;
	if (!u->file_state)
		u->file_state = unit_file_state_name(unit_tree_state(t, name));
	if (!u->fragment)
		u->fragment = arena_printf(&set->arena, "/%s", l->path);
	if (!u->restart) {
		v = unit_file_get(&l->file, "Service", "Restart");
		u->restart = arena_strdup(&set->arena, v ? v : "no");
	}
	if (!u->type && (v = unit_file_get(&l->file, "Service", "Type")))
		u->type = arena_strdup(&set->arena, v);
	if (!(u->have & REC_UNIT_RESTART_US)) {
		v = unit_file_get(&l->file, "Service", "RestartSec");
		u->restart_us = v && unit_file_span_us(v, &us) == 0 ? us : defaults->restart_us;
		u->have |= REC_UNIT_RESTART_US;
	}
	if (!(u->have & REC_UNIT_LIMIT)) {
		v = describe_limit(l, "StartLimitIntervalSec", "StartLimitInterval");
		u->limit_us = v && unit_file_span_us(v, &us) == 0 ? us : defaults->limit_us;
		v = describe_limit(l, "StartLimitBurst", "StartLimitBurst");
		u->limit_burst = defaults->burst;
		if (v)
			(void)text_u64(v, &u->limit_burst);
		u->have |= REC_UNIT_LIMIT;
	}
	unit_file_lines(&l->file, "Service", "ExecStart", &lines);
	if (!u->exec_start && lines.list.len)
		u->exec_start = arena_strdup(&set->arena, lines.list.items[0]);
	vec_free(&lines.list);
}

void unit_describe(struct unit_tree *t, const char *name, struct rec_unit_set *set,
		   struct rec_service *u)
{
	struct describe_defaults defaults;

	describe_read_defaults(t, &defaults);
	describe(t, &defaults, name, set, u);
}

struct describe_all {
	struct unit_tree *tree;
	struct describe_defaults defaults;
	struct rec_unit_set *set;
};

static int describe_each(void *arg, const char *name)
{
	struct describe_all *d = arg;

	struct rec_service *u = rec_units_add(d->set, name);
	if (!u)
		return -ENOMEM;
	u->file_state = unit_file_state_name(unit_tree_state(d->tree, name));
	if (text_ends(name, ".service"))
		describe(d->tree, &d->defaults, name, d->set, u);
	return 0;
}

int unit_describe_all(struct unit_tree *t, struct rec_unit_set *set, struct err *err)
{
	struct describe_all d = { .tree = t, .set = set };

	describe_read_defaults(t, &d.defaults);
	int r = unit_tree_each(t, describe_each, &d);
	return r < 0 ? err_set(err, r, "%s: too many units", t->root->path) : 0;
}

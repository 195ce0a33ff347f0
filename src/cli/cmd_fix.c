#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "buf.h"
#include "commands.h"
#include "cure.h"
#include "disable_unit.h"
#include "esc.h"
#include "numbers.h"
#include "plan_file.h"
#include "text.h"
#include "timefmt.h"
#include "unit_guard.h"

static const uint64_t fix_drain_ns = 90 * NS_PER_S; /* systemd's own default for a stop */

struct fix_options {
	bool apply, no_purge;
	const char *how, *force, *state, *below;
};

static const struct option options[] = {
	OPTION(fix_options, apply, "apply", 0, OPTION_FLAG, NULL,
	       "do it; without this, only say what would be done"),
	OPTION(fix_options, how, "how", 0, OPTION_TEXT, "mask|preset|dropin",
	       "how to keep a unit off: mask it (default), mask it and write a preset for images, "
	       "or only end its restarts"),
	OPTION(fix_options, force, "force", 0, OPTION_TEXT, "UNIT",
	       "do it although UNIT is one that the node cannot do without"),
	OPTION(fix_options, no_purge, "no-purge", 0, OPTION_FLAG, NULL,
	       "leave the zombies: only stop what makes them"),
	OPTION(fix_options, below, "below", 0, OPTION_TEXT, "PATH",
	       "purge only zombies below this cgroup (path as in /proc/PID/cgroup)"),
	OPTION(fix_options, state, "state", 0, OPTION_TEXT, "DIR",
	       "where plan and undo journal are kept (default " STATE_DEFAULT ")"),
};

static enum disable_how fix_how(const char *text)
{
	if (text && strcmp(text, "preset") == 0)
		return DISABLE_PRESET;
	return text && strcmp(text, "dropin") == 0 ? DISABLE_DROPIN : DISABLE_MASK;
}

static void fix_tell(void *arg, const char *what)
{
	AUTO_BUF struct buf safe = { 0 };

	(void)arg;
	esc_tty(&safe, what, strlen(what));
	printf("   done: %s\n", buf_str(&safe));
	fflush(stdout);
}

static int fix_list(const struct plan_file *plan)
{
	puts("the plan of the last 'zscope why':");
	vec_foreach (&plan->steps, s) {
		AUTO_BUF struct buf safe = { 0 };
		esc_tty(&safe, s->target, strlen(s->target));
		printf("   %u  %s %s\n", s->id, plan_action_name(s->action), buf_str(&safe));
	}
	puts("'zscope fix ID' says what a step would do, 'zscope fix ID --apply' does it.");
	return STATUS_OK;
}

static int fix_refuse_protected(const struct fix_options *o, const char *unit, struct err *err)
{
	if (!unit_name_ok(unit))
		return err_set(err, -EINVAL, "'%s' is no unit name", unit);
	if (!unit_is_protected(unit) || (o->force && strcmp(o->force, unit) == 0))
		return 0;
	return err_set(
		err, -EPERM,
		"%s is protected: the node may be lost without it; --force %s if you are sure",
		unit, unit);
}

static void fix_say_disable(const struct planned *step, enum disable_how how)
{
	printf("would, for %s:\n", step->target);
	if (how == DISABLE_DROPIN)
		printf("   write /etc/systemd/system/%s.d/00-zombiescope.conf with Restart=no\n",
		       step->target);
	else
		printf("   mask it: /etc/systemd/system/%s -> /dev/null\n", step->target);
	if (how == DISABLE_PRESET)
		printf("   write /etc/systemd/system-preset/00-zombiescope-%s.preset: disable %s\n",
		       step->target, step->target);
	printf("   stop it and wait until its cgroup is empty\n"
	       "   note each step first, so that 'zscope undo' takes it back\n");
}

/* What stays, by what keeps it. A reboot is named only where nothing else helps. */
static void fix_say_left(const struct cure_purge *c)
{
	char n[NUMBERS_MAX];

	if (!c->after)
		return;
	printf("%s zombies are left:\n", numbers_count(n, c->after));
	for (unsigned kind = 0; kind < PIN_KIND_END; kind++)
		if (c->left.stuck[kind])
			printf("   %s held by %s; %s%s\n", numbers_count(n, c->left.stuck[kind]),
			       pin_kind_name(kind), pin_kind_cure(kind),
			       kind == PIN_REFERENCE ? "; where 'zscope zombies --pins' names "
						       "none, only a reboot "
						       "frees them"
						     : "");
	if (c->left.freeable)
		printf("   %s whose cache is in use or still being written; 'zscope purge --apply' "
		       "later frees them\n",
		       numbers_count(n, c->left.freeable));
}

static int fix_purge(const struct fix_options *o, const struct root *root, struct err *err)
{
	AUTO_UNKNOWNS struct unknowns unknowns = { 0 };
	struct cure_purge c = { .below = o->below };
	char a[NUMBERS_MAX], b[NUMBERS_MAX], bytes[NUMBERS_MAX], span[TIMEFMT_MAX];
	struct offer offer;

	offer_read(root, &offer);
	int r = cure_purge(root, &offer, &c, &unknowns, err);
	if (r < 0)
		return r;
	printf("   done: purged: %s zombies before, %s after, %s released in %s\n",
	       numbers_count(a, c.before), numbers_count(b, c.after),
	       numbers_bytes(bytes,
			     c.bytes_before > c.bytes_after ? c.bytes_before - c.bytes_after : 0),
	       timefmt_span(span, c.wall_ns));
	fix_say_left(&c);
	return 0;
}

static bool fix_plan_purges(const struct plan_file *plan)
{
	vec_foreach (&plan->steps, s)
		if (s->action == PLAN_PURGE)
			return true;
	return false;
}

static int fix_disable(struct invocation *in, const struct planned *step, bool purge,
		       const struct root *root, struct manager *m, struct err *err)
{
	const struct fix_options *o = in->options;
	AUTO_UNDO struct undo u = { .file_fd = -1, .lock_fd = -1, .dir_fd = -1 };

	int r = undo_open(o->state ? o->state : STATE_DEFAULT, &u, err);
	if (r == 0)
		r = undo_begin(&u, err);
	if (r < 0)
		return r;
	printf("fixing %s\n", step->target);
	r = disable_unit(&u, m, root, step->target, fix_how(o->how), fix_drain_ns, fix_tell, NULL,
			 err);
	if (r < 0)
		return err_prefix(err, r,
				  "stopped half-way ('zscope undo' takes back what was done)");
	r = undo_end(&u, err);
	if (r < 0)
		return r;
	/* The unit is dealt with, whatever becomes of the purge; the lock is held until it is over.
	 */
	struct err purged = { 0 };
	if (purge && fix_purge(o, root, &purged) < 0)
		printf("   the zombies stay: %s\n", purged.text);
	puts("'zscope undo' takes it back, 'zscope validate' watches whether it helped.");
	return STATUS_OK;
}

/* The purge alone, for zombies whose maker is gone. */
static int fix_purge_step(struct invocation *in, const struct plan_file *plan,
			  const struct planned *step, const struct root *root, struct err *err)
{
	const struct fix_options *o = in->options;
	AUTO_UNDO struct undo lock = { .file_fd = -1, .lock_fd = -1, .dir_fd = -1 };

	int r = plan_file_check(plan, step, root, NULL, in->now_ns, err);
	if (r < 0)
		return r;
	if (!o->apply) {
		puts("would drop the cache that holds zombies, and nobody else's; 'zscope purge' "
		     "shows whose\nnothing was changed: add --apply to do it");
		return STATUS_OK;
	}
	r = undo_open(o->state ? o->state : STATE_DEFAULT, &lock, err);
	if (r == 0)
		r = fix_purge(o, root, err);
	return r < 0 ? r : STATUS_OK;
}

static int fix_step(struct invocation *in, const struct plan_file *plan, const struct planned *step,
		    struct err *err)
{
	const struct fix_options *o = in->options;
	AUTO_ROOT struct root root = { .fd = -1 };
	AUTO_MANAGER struct manager *m = NULL;
	struct err no_manager = { 0 };

	int r = root_open(NULL, &root, err);
	if (r < 0)
		return r;
	if (step->action == PLAN_PURGE)
		return fix_purge_step(in, plan, step, &root, err);
	if (step->action != PLAN_DISABLE) {
		printf("step %u is a command of its own: see 'zscope why'\n", step->id);
		return STATUS_OK;
	}
	r = fix_refuse_protected(o, step->target, err);
	if (r < 0)
		return r;
	int connected = manager_open(&m, &no_manager);
	bool purge = !o->no_purge && fix_plan_purges(plan);
	if (!o->apply || connected < 0) {
		fix_say_disable(step, fix_how(o->how));
		if (purge)
			puts("   then purge the zombies that it left: drop the cache that holds "
			     "them");
	}
	if (connected < 0)
		return err_set(err, connected, "cannot: %s", no_manager.text);
	r = plan_file_check(plan, step, &root, m, in->now_ns, err);
	if (r < 0)
		return r;
	if (!o->apply) {
		puts("nothing was changed: add --apply to do it");
		return STATUS_OK;
	}
	return fix_disable(in, step, purge, &root, m, err);
}

static int fix_run(struct invocation *in, struct err *err)
{
	const struct fix_options *o = in->options;
	AUTO_PLAN_FILE struct plan_file plan = { 0 };
	uint64_t id;

	int r = plan_file_load(o->state ? o->state : STATE_DEFAULT, &plan, err);
	if (r < 0)
		return r;
	if (!in->n_args)
		return fix_list(&plan);
	if (in->n_args > 1 || text_u64(in->args[0], &id) < 0)
		return err_set(
			err, -EINVAL,
			"fix takes the number of one step of the plan: zscope fix lists them");
	const struct planned *step = plan_file_find(&plan, (unsigned)id);
	if (!step)
		return err_set(err, -ENOENT, "the plan has no step %s: zscope fix lists them",
			       in->args[0]);
	return fix_step(in, &plan, step, err);
}

const struct command cmd_fix = {
	.name = "fix",
	.summary = "carry out a step of the plan that 'why' made (dry run unless --apply)",
	.arguments = "[ID]",
	.description = "Without ID, lists the plan. With ID, says what that step would do; with "
		       "--apply, does it: a unit is masked "
		       "first, so that nothing starts it again, then stopped, and its cgroup is "
		       "waited for until it is empty; then the zombies that the plan found are "
		       "purged, and what stays is told with what would free it. "
		       "Everything is noted in an undo journal before it is done. Units that the "
		       "node cannot do without are "
		       "refused, and so is a plan whose host has changed since it was made.",
	.examples = "zscope fix\nzscope fix 1\nzscope fix 1 --apply\n",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct fix_options),
	.run = fix_run,
};

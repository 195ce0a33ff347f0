#include <errno.h>
#include <limits.h>
#include <string.h>

#include "auto.h"
#include "commands.h"
#include "cure.h"
#include "disable_unit.h"
#include "plan_file.h"
#include "text.h"
#include "timefmt.h"
#include "unit_guard.h"
#include "view_fix.h"

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
	struct view_fix *view = arg;

	view_fix_line(view, view->json ? "%s" : "done: %s", what);
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

static void fix_say_disable(struct view_fix *view, const struct planned *step, enum disable_how how,
			    bool purge)
{
	const char *unit = step->target;

	view_fix_step(view, step, false);
	if (how == DISABLE_DROPIN)
		view_fix_line(view,
			      "write /etc/systemd/system/%s.d/00-zombiescope.conf with Restart=no",
			      unit);
	else
		view_fix_line(view, "mask it: /etc/systemd/system/%s -> /dev/null", unit);
	if (how == DISABLE_PRESET)
		view_fix_line(
			view,
			"write /etc/systemd/system-preset/00-zombiescope-%s.preset: disable %s",
			unit, unit);
	view_fix_line(view, "stop it and wait until its cgroup is empty");
	view_fix_line(view, "note each step first, so that 'zscope undo' takes it back");
	if (purge)
		view_fix_line(view, "then purge the zombies that it left: drop the cache that "
				    "holds them");
}

static int fix_purge(const struct fix_options *o, const struct root *root, struct view_fix *view,
		     struct err *err)
{
	AUTO_UNKNOWNS struct unknowns unknowns = { 0 };
	struct cure_purge c = { .below = o->below };
	struct offer offer;

	offer_read(root, &offer);
	int r = cure_purge(root, &offer, &c, &unknowns, err);
	if (r == 0)
		view_fix_purged(view, &c);
	return r;
}

static bool fix_plan_purges(const struct plan_file *plan)
{
	vec_foreach (&plan->steps, s)
		if (s->action == PLAN_PURGE)
			return true;
	return false;
}

static int fix_disable(const struct fix_options *o, const struct planned *step, bool purge,
		       const struct root *root, struct manager *m, struct view_fix *view,
		       struct err *err)
{
	AUTO_UNDO struct undo u = { .file_fd = -1, .lock_fd = -1, .dir_fd = -1 };

	int r = undo_open(o->state ? o->state : STATE_DEFAULT, &u, err);
	if (r == 0)
		r = undo_begin(&u, err);
	if (r < 0)
		return r;
	view_fix_step(view, step, true);
	r = disable_unit(&u, m, root, step->target, fix_how(o->how), fix_drain_ns, fix_tell, view,
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
	if (purge && fix_purge(o, root, view, &purged) < 0)
		view_fix_not_purged(view, purged.text);
	view_fix_end(view,
		     "'zscope undo' takes it back, 'zscope validate' watches whether it helped.");
	return STATUS_OK;
}

/* The purge alone, for zombies whose maker is gone. */
static int fix_purge_step(struct invocation *in, const struct plan_file *plan,
			  const struct planned *step, const struct root *root,
			  struct view_fix *view, struct err *err)
{
	const struct fix_options *o = in->options;
	AUTO_UNDO struct undo lock = { .file_fd = -1, .lock_fd = -1, .dir_fd = -1 };

	int r = plan_file_check(plan, step, root, NULL, in->now_ns, err);
	if (r < 0)
		return r;
	view_fix_step(view, step, o->apply);
	if (!o->apply) {
		view_fix_line(view, "drop the cache that holds zombies, and nobody else's; "
				    "'zscope purge' shows whose");
		view_fix_end(view, "nothing was changed: add --apply to do it");
		return STATUS_OK;
	}
	r = undo_open(o->state ? o->state : STATE_DEFAULT, &lock, err);
	if (r == 0)
		r = fix_purge(o, root, view, err);
	if (r < 0)
		return r;
	view_fix_end(view, "'zscope validate' watches whether it helped.");
	return STATUS_OK;
}

static int fix_step(struct invocation *in, const struct plan_file *plan, const struct planned *step,
		    const struct root *root, struct view_fix *view, struct err *err)
{
	const struct fix_options *o = in->options;
	AUTO_MANAGER struct manager *m = NULL;
	struct err no_manager = { 0 };

	if (step->action == PLAN_PURGE)
		return fix_purge_step(in, plan, step, root, view, err);
	if (step->action != PLAN_DISABLE)
		return err_set(err, -EINVAL, "step %u is a command of its own: see 'zscope why'",
			       step->id);
	int r = fix_refuse_protected(o, step->target, err);
	if (r < 0)
		return r;
	int connected = manager_open(&m, &no_manager);
	bool purge = !o->no_purge && fix_plan_purges(plan);
	if (!o->apply || connected < 0)
		fix_say_disable(view, step, fix_how(o->how), purge);
	if (connected < 0) {
		view_fix_cannot(view, no_manager.text);
		return err_set(err, connected, "cannot: %s", no_manager.text);
	}
	r = plan_file_check(plan, step, root, m, in->now_ns, err);
	if (r < 0)
		return r;
	if (o->apply)
		return fix_disable(o, step, purge, root, m, view, err);
	view_fix_end(view, "nothing was changed: add --apply to do it");
	return STATUS_OK;
}

static int fix_answer(struct invocation *in, const struct root *root, struct view_fix *view,
		      struct err *err)
{
	const struct fix_options *o = in->options;
	AUTO_PLAN_FILE struct plan_file plan = { 0 };
	uint64_t id;

	int r = plan_file_load(o->state ? o->state : STATE_DEFAULT, &plan, err);
	if (r < 0)
		return r;
	if (!in->n_args) {
		view_fix_plan(view, &plan);
		view_fix_end(view, "'zscope fix ID' says what a step would do, 'zscope fix ID "
				   "--apply' does it.");
		return STATUS_OK;
	}
	if (in->n_args > 1 || text_u64(in->args[0], &id) < 0)
		return err_set(
			err, -EINVAL,
			"fix takes the number of one step of the plan: zscope fix lists them");
	const struct planned *step = id <= UINT_MAX ? plan_file_find(&plan, (unsigned)id) : NULL;
	if (!step)
		return err_set(err, -ENOENT, "the plan has no step %s: zscope fix lists them",
			       in->args[0]);
	return fix_step(in, &plan, step, root, view, err);
}

static int fix_run(struct invocation *in, struct err *err)
{
	AUTO_ROOT struct root root = { .fd = -1 };
	struct view_fix view;

	int r = root_open(NULL, &root, err);
	if (r < 0)
		return r;
	view_fix_open(&view, in->common.json, &root, in->now_ns);
	r = fix_answer(in, &root, &view, err);
	view_fix_close(&view);
	return r;
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
	.common = COMMON_JSON,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct fix_options),
	.run = fix_run,
};

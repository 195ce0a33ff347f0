#include "disable_unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "text.h"
#include "timefmt.h"
#include "unit_guard.h"

#define UNIT_DIR   "etc/systemd/system"
#define PRESET_DIR "etc/systemd/system-preset"

struct disable {
	struct undo *undo;
	struct manager *manager;
	const struct root *root;
	const char *unit;
	disable_told told;
	void *arg;
};

static void disable_tell(const struct disable *d, const char *format, const char *what)
{
	char text[700];

	if (!d->told)
		return;
	snprintf(text, sizeof(text), "%s: %s", format, what);
	d->told(d->arg, text);
}

static bool cgroup_is_empty(const struct root *root, const char *hierarchy, const char *cgroup)
{
	char path[700];
	AUTO_BUF struct buf procs = { 0 };

	snprintf(path, sizeof(path), "sys/fs/cgroup/%s%s/cgroup.procs", hierarchy, cgroup);
	return root_read(root, path, ROOT_FILE_CAP, &procs, NULL) < 0 || procs.len == 0;
}

/* A stopped unit can still have processes on their way out; the purge after it must find none. */
static int disable_drain(const struct disable *d, const char *cgroup, uint64_t timeout_ns,
			 struct err *err)
{
	uint64_t until = clock_mono_ns() + timeout_ns;

	if (!*cgroup)
		return 0;
	while (!cgroup_is_empty(d->root, "", cgroup) ||
	       !cgroup_is_empty(d->root, "systemd", cgroup)) {
		if (clock_mono_ns() > until)
			return err_set(err, -ETIMEDOUT, "%s: processes are still in its cgroup %s",
				       d->unit, cgroup);
		usleep(50000);
	}
	disable_tell(d, "its cgroup is empty", cgroup);
	return 0;
}

static bool disable_runs(const struct manager_unit *state)
{
	return strcmp(state->active, "inactive") != 0 && strcmp(state->active, "failed") != 0;
}

/* was: before anything was changed. The manager still knows the unit as it was loaded, so that it
 * stops in its own way (ExecStop=, TimeoutStopSec=, RuntimeDirectory=): only then is it told of the
 * changed files. Whatever started it meanwhile, by a socket or a timer, is stopped again. */
static int disable_stop(const struct disable *d, const struct manager_unit *was,
			uint64_t timeout_ns, struct err *err)
{
	struct manager_unit now = { 0 };
	int r = 0;

	if (disable_runs(was)) {
		r = manager_stop(d->manager, d->unit, timeout_ns, err);
		if (r < 0)
			return r;
		disable_tell(d, "stopped", d->unit);
	}
	r = manager_reload(d->manager, err);
	if (r == 0)
		r = manager_unit_get(d->manager, d->unit, &now, err);
	if (r == 0 && disable_runs(&now))
		r = manager_stop(d->manager, d->unit, timeout_ns, err);
	return r < 0 ? r : disable_drain(d, was->control_group, timeout_ns, err);
}

static int disable_mask(const struct disable *d, struct err *err)
{
	char path[400];
	AUTO_BUF struct buf target = { 0 };

	snprintf(path, sizeof(path), UNIT_DIR "/%s", d->unit);
	int link = root_readlink(d->root, path, &target, NULL);
	if (link == 0 && strcmp(buf_str(&target), "/dev/null") == 0) {
		disable_tell(d, "was masked already", path);
		return 0;
	}
	int r = 0;
	if (link != -ENOENT)
		r = undo_move_away(d->undo, d->root, path, err);
	if (r == 0)
		r = undo_make_link(d->undo, d->root, path, "/dev/null", err);
	if (r == 0)
		disable_tell(d, "masked", path);
	return r;
}

static int disable_preset(const struct disable *d, struct err *err)
{
	char path[400], text[600];

	int r = undo_make_dir(d->undo, d->root, PRESET_DIR, err);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), PRESET_DIR "/00-zombiescope-%s.preset", d->unit);
	if (root_exists(d->root, path))
		return 0;
	snprintf(text, sizeof(text),
		 "# written by zscope fix; zscope undo removes it\ndisable %s\n", d->unit);
	r = undo_make_file(d->undo, d->root, path, text, err);
	if (r == 0)
		disable_tell(d, "preset written", path);
	return r;
}

static int disable_dropin(const struct disable *d, struct err *err)
{
	char dir[400], path[500];

	snprintf(dir, sizeof(dir), UNIT_DIR "/%s.d", d->unit);
	snprintf(path, sizeof(path), "%s/00-zombiescope.conf", dir);
	if (root_exists(d->root, path))
		return 0;
	int r = undo_make_dir(d->undo, d->root, dir, err);
	if (r == 0)
		r = undo_make_file(
			d->undo, d->root, path,
			"# written by zscope fix; zscope undo removes it\n[Service]\nRestart=no\n",
			err);
	if (r == 0)
		disable_tell(d, "never restarted again", path);
	return r;
}

int disable_unit(struct undo *u, struct manager *m, const struct root *root, const char *unit,
		 enum disable_how how, uint64_t drain_timeout_ns, disable_told told, void *arg,
		 struct err *err)
{
	struct disable d = { u, m, root, unit, told, arg };
	struct manager_unit was = { 0 };

	if (!unit_name_ok(unit))
		return err_set(err, -EINVAL, "'%s' is no unit name", unit);
	int r = m ? manager_unit_get(m, unit, &was, err) : 0;
	/* Noted first, so that undo starts it last, when its file is back. */
	if (r == 0 && m && disable_runs(&was))
		r = undo_note(u, err, "stop", unit, was.active);
	if (r < 0)
		return r;
	/* The file first: whatever is killed from here on, a reload or a boot finds it masked. */
	if (how == DISABLE_DROPIN)
		r = disable_dropin(&d, err);
	else
		r = disable_mask(&d, err);
	if (r == 0 && how == DISABLE_PRESET)
		r = disable_preset(&d, err);
	if (r == 0 && m)
		r = disable_stop(&d, &was, drain_timeout_ns, err);
	return r;
}

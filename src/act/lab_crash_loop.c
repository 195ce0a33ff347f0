/* A unit that dies as soon as it runs and is restarted more slowly than its start limit counts: a
 * real unit where systemd is pid 1, else a supervised process in the lab's own cgroups. The real
 * one ends by itself: its ConditionPathExists= is the lab's scratch directory, so that it is not
 * started again once that was removed, whoever removed it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "auto.h"
#include "buf.h"
#include "lab_loop.h"
#include "lab_scenarios.h"
#include "timefmt.h"

enum { CRASH_CALL_LIMIT_US = 5000000 };

static void crash_name(char *ret, size_t size, uint64_t i)
{
	(void)i;
	/* removed and made anew each time, as systemd does */
	snprintf(ret, size, "system.slice/zscope-lab-crash.service");
}

static int crash_call(sd_bus *bus, const char *method, const char *unit)
{
	sd_bus_message *m = NULL;
	int r = sd_bus_message_new_method_call(bus, &m, "org.freedesktop.systemd1",
					       "/org/freedesktop/systemd1",
					       "org.freedesktop.systemd1.Manager", method);

	if (r >= 0 && unit)
		r = sd_bus_message_append(m, "ss", unit, "replace");
	if (r >= 0)
		r = sd_bus_call(bus, m, CRASH_CALL_LIMIT_US, NULL, NULL);
	sd_bus_message_unref(m);
	return r;
}

static int crash_write_unit(struct lab_run *run, const char *path, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text,
		 "[Unit]\nDescription=zscope lab: crash loop\nConditionPathExists=%s\n"
		 "StartLimitIntervalSec=0\nCollectMode=inactive-or-failed\n"
		 "[Service]\nExecStartPre=/bin/cp --backup=numbered /bin/true %s/left\n"
		 "ExecStart=/bin/false\nRestart=on-failure\nRestartSec=%llums\n"
		 "MemoryAccounting=yes\n",
		 run->scratch_dir, run->scratch_dir,
		 (unsigned long long)(run->options.interval_ns / NS_PER_MS));
	int r = lab_journal_add(run->journal, LAB_TRACE_FILE, path, err);
	if (r < 0)
		return r;
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text.data, text.len) != (ssize_t)text.len)
		return err_path(err, errno ? -errno : -EIO, path);
	return 0;
}

static int crash_run_unit(struct lab_run *run, struct err *err)
{
	char unit[80], path[160];
	sd_bus *bus = NULL;

	snprintf(unit, sizeof(unit), "zscope-lab-%s.service", run->id);
	snprintf(path, sizeof(path), "/run/systemd/system/%s", unit);
	int r = lab_make_scratch(run, err);
	if (r == 0)
		r = crash_write_unit(run, path, err);
	if (r < 0)
		return r;
	r = sd_bus_open_system(&bus);
	if (r >= 0)
		r = crash_call(bus, "Reload", NULL);
	if (r >= 0)
		r = crash_call(bus, "StartUnit", unit);
	if (r < 0) {
		sd_bus_unref(bus);
		return err_set(err, r, "systemd over D-Bus: %s", strerror(-r));
	}
	lab_say(run, "%s dies and is restarted every %llu ms", unit,
		(unsigned long long)(run->options.interval_ns / NS_PER_MS));
	struct timespec pause = { .tv_nsec = 50 * (long)NS_PER_MS };
	while (!run->options.keep && clock_mono_ns() < run->deadline_ns)
		nanosleep(&pause, NULL);
	if (!run->options.keep) {
		(void)crash_call(bus, "StopUnit", unit);
		(void)unlink(path);
		(void)crash_call(bus, "Reload", NULL);
	}
	sd_bus_unref(bus);
	return 0;
}

static int crash_run(struct lab_run *run, struct err *err)
{
	static const struct lab_loop loop = { .name = crash_name, .exit_code = 5 };
	bool unit = strcmp(run->options.mode, "unit") == 0 ||
		    (strcmp(run->options.mode, "auto") == 0 && sd_booted() > 0);

	return unit ? crash_run_unit(run, err) : lab_loop_run(run, &loop, err);
}

const struct lab_scenario lab_crash_loop = {
	.name = "crash-loop",
	.summary = "a unit that dies and is restarted for ever, below its start limit",
	.modes = "auto|unit|process",
	.defaults = { .count = 1000,
		      .length_ns = 60 * NS_PER_S,
		      .size_bytes = 4096,
		      .interval_ns = 3 * NS_PER_S,
		      .mode = "auto" },
	.most_count = 100000,
	.most_size_bytes = 1 << 20,
	.most_ns = 3600 * NS_PER_S,
	.run = crash_run,
};

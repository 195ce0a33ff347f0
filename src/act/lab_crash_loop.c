/* A unit that dies as soon as it runs and is restarted more slowly than its start limit counts: a
 * real unit where systemd is pid 1, else a supervised process in the lab's own cgroups. The real
 * one ends by itself: its ConditionPathExists= is the lab's scratch directory, so that it is not
 * started again once that was removed, whoever removed it. */
#include <stdio.h>

#include "lab_loop.h"
#include "lab_scenarios.h"
#include "lab_unit.h"
#include "timefmt.h"

static void crash_name(char *ret, size_t size, uint64_t i)
{
	(void)i;
	/* removed and made anew each time, as systemd does */
	snprintf(ret, size, "system.slice/zscope-lab-crash.service");
}

static int crash_run_unit(struct lab_run *run, struct err *err)
{
	char unit[80], service[400];

	snprintf(unit, sizeof(unit), "zscope-lab-%s.service", run->id);
	int r = lab_make_scratch(run, err);
	if (r < 0)
		return r;
	snprintf(service, sizeof(service),
		 "ExecStartPre=/bin/cp --backup=numbered /bin/true %s/left\n"
		 "ExecStart=/bin/false\nRestart=on-failure\nRestartSec=%llums\n",
		 run->scratch_dir, (unsigned long long)(run->options.interval_ns / NS_PER_MS));
	r = lab_unit_start(run, unit, service, err);
	if (r < 0)
		return r;
	lab_say(run, "%s dies and is restarted every %llu ms", unit,
		(unsigned long long)(run->options.interval_ns / NS_PER_MS));
	lab_unit_wait(run);
	return 0;
}

static int crash_run(struct lab_run *run, struct err *err)
{
	static const struct lab_loop loop = { .name = crash_name, .exit_code = 5 };

	return lab_unit_wanted(run) ? crash_run_unit(run, err) : lab_loop_run(run, &loop, err);
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

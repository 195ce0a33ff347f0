/* Crash loops for the harder verdicts: two units that both leave zombies, so that both must be
 * named; and one that dies as often but leaves none, so that nobody may be blamed for zombies. Real
 * units where systemd is pid 1, else supervised processes in the lab's own cgroups. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lab_loop.h"
#include "lab_scenarios.h"
#include "lab_unit.h"
#include "timefmt.h"

static void first_name(char *ret, size_t size, uint64_t i)
{
	(void)i;
	snprintf(ret, size, "system.slice/lab-first.service");
}

static void second_name(char *ret, size_t size, uint64_t i)
{
	(void)i;
	snprintf(ret, size, "system.slice/lab-second.service");
}

static void quiet_name(char *ret, size_t size, uint64_t i)
{
	(void)i;
	snprintf(ret, size, "system.slice/lab-quiet.service");
}

/* Each start copies a file: its page cache then keeps the cgroup of that start. */
static int start_unit(struct lab_run *run, const char *name, const char *leave, struct err *err)
{
	char service[700];

	snprintf(service, sizeof(service),
		 "%sExecStart=/bin/false\nRestart=on-failure\nRestartSec=%" PRIu64 "ms\n", leave,
		 run->options.interval_ns / NS_PER_MS);
	int r = lab_unit_start(run, name, service, err);
	if (r == 0)
		lab_say(run, "%s dies and is restarted every %" PRIu64 " ms", name,
			run->options.interval_ns / NS_PER_MS);
	return r;
}

static int two_units(struct lab_run *run, struct err *err)
{
	static const char *const parts[] = { "first", "second" };
	char names[2][96], leave[400];

	int r = lab_make_scratch(run, err);
	for (unsigned i = 0; r == 0 && i < 2; i++) {
		snprintf(names[i], sizeof(names[i]), "zscope-lab-%s-%s.service", run->id, parts[i]);
		snprintf(leave, sizeof(leave),
			 "ExecStartPre=/bin/cp --backup=numbered /bin/true %s/%s\n",
			 run->scratch_dir, parts[i]);
		r = start_unit(run, names[i], leave, err);
	}
	if (r == 0)
		lab_unit_wait(run);
	return r;
}

static int two_run(struct lab_run *run, struct err *err)
{
	static const struct lab_loop loops[] = { { .name = first_name, .exit_code = 5 },
						 { .name = second_name, .exit_code = 6 } };
	bool keep = run->options.keep;
	int r = 0;

	if (lab_unit_wanted(run))
		return two_units(run, err);
	run->options.keep = true; /* start both before waiting for either */
	for (unsigned i = 0; r == 0 && i < 2; i++)
		r = lab_loop_run(run, &loops[i], err);
	run->options.keep = keep;
	lab_unit_wait(run);
	return r;
}

static int quiet_run(struct lab_run *run, struct err *err)
{
	static const struct lab_loop loop = { .name = quiet_name,
					      .exit_code = 5,
					      .leaves_nothing = true };
	char name[96];

	if (!lab_unit_wanted(run))
		return lab_loop_run(run, &loop, err);
	snprintf(name, sizeof(name), "zscope-lab-%s.service", run->id);
	int r = lab_make_scratch(run, err);
	if (r == 0)
		r = start_unit(run, name, "", err);
	if (r == 0)
		lab_unit_wait(run);
	return r;
}

const struct lab_scenario lab_two_culprits = {
	.name = "two-culprits",
	.summary = "two units that die and are restarted for ever; both leave zombies",
	.modes = "auto|unit|process",
	.defaults = { .count = 100000,
		      .length_ns = 60 * NS_PER_S,
		      .size_bytes = 4096,
		      .interval_ns = 200 * NS_PER_MS,
		      .mode = "auto" },
	.most_count = 100000,
	.most_size_bytes = 1 << 20,
	.most_ns = 3600 * NS_PER_S,
	.run = two_run,
};

const struct lab_scenario lab_crash_no_zombies = {
	.name = "crash-loop-no-zombies",
	.summary = "a unit that dies and is restarted for ever, and leaves nothing behind",
	.modes = "auto|unit|process",
	.defaults = { .count = 100000,
		      .length_ns = 60 * NS_PER_S,
		      .interval_ns = 200 * NS_PER_MS,
		      .mode = "auto" },
	.most_count = 100000,
	.most_ns = 3600 * NS_PER_S,
	.run = quiet_run,
};

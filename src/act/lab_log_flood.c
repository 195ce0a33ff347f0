/* A flood of lines in the kernel's log. They bear the lab's mark and are of the lowest level, so
 * that no console prints them: what is staged is the flood, not the stall of a serial console. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "lab_kmsg.h"
#include "lab_loop.h"
#include "lab_scenarios.h"
#include "timefmt.h"

static int flood_child(struct lab_run *run, void *arg)
{
	uint64_t next_ns = clock_mono_ns();
	char line[64];

	(void)arg;
	for (uint64_t i = 0; i < run->options.count && clock_mono_ns() < run->deadline_ns; i++) {
		snprintf(line, sizeof(line), "flood, line %" PRIu64 " of %" PRIu64, i + 1,
			 run->options.count);
		int r = lab_kmsg_line(LAB_KMSG_DEBUG, line, NULL);
		if (r < 0)
			return r;
		lab_loop_pause(&next_ns, run->options.interval_ns);
	}
	return 0;
}

static int flood_run(struct lab_run *run, struct err *err)
{
	if (access("/dev/kmsg", W_OK) < 0)
		return err_path(err, -errno, "/dev/kmsg");
	pid_t pid = lab_make_child(run, flood_child, NULL, err);
	if (pid < 0)
		return pid;
	lab_say(run,
		"process %d writes up to %" PRIu64 " lines to the kernel's log, one every %" PRIu64
		" us, marked as the lab's; consoles do not print them",
		pid, run->options.count, run->options.interval_ns / 1000);
	return run->options.keep ? 0 : lab_wait_child(run, pid, err);
}

const struct lab_scenario lab_log_flood = {
	.name = "log-flood",
	.summary = "marked lines in the kernel's log, faster than a serial console prints",
	.defaults = { .count = 20000, .length_ns = 20 * NS_PER_S, .interval_ns = NS_PER_MS },
	.most_count = 60000,
	.most_ns = 60 * NS_PER_S,
	.run = flood_run,
};

/* Every core full of user work: what a healthy node looks like when it earns its money. */
#include <errno.h>
#include <sched.h>

#include "lab_scenarios.h"
#include "timefmt.h"

enum { ALL_BUSY_SPINS = 1000000, ALL_BUSY_MOST = 1024 };

static int all_busy_child(struct lab_run *run, void *arg)
{
	volatile uint64_t x = 1;

	if (lab_hold_core(*(unsigned *)arg) < 0)
		return -errno;
	while (clock_mono_ns() < run->deadline_ns)
		for (unsigned i = 0; i < ALL_BUSY_SPINS; i++)
			x = x * 6364136223846793005u + 1;
	return 0;
}

static int all_busy_run(struct lab_run *run, struct err *err)
{
	pid_t pids[ALL_BUSY_MOST];
	unsigned n = 0;
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return err_set(err, -errno, "the cores of this process cannot be read");
	for (unsigned cpu = 0; cpu < CPU_SETSIZE && n < ALL_BUSY_MOST; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		pids[n] = lab_make_child(run, all_busy_child, &cpu, err);
		if (pids[n] < 0)
			return pids[n];
		n++;
	}
	lab_say(run, "%u cores are full of user work for %llu s", n,
		(unsigned long long)(run->options.length_ns / NS_PER_S));
	for (unsigned i = 0; i < n && !run->options.keep; i++) {
		int r = lab_wait_child(run, pids[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

const struct lab_scenario lab_all_busy = {
	.name = "healthy-but-busy",
	.summary = "all cores full of user work: nothing is wrong, and nothing may be found",
	.defaults = { .length_ns = 20 * NS_PER_S },
	.most_ns = 600 * NS_PER_S,
	.run = all_busy_run,
};

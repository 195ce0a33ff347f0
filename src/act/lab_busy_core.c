/* One core, held by one pinned process, in the kernel, in user space, or as a real-time task. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "lab_scenarios.h"
#include "timefmt.h"

/* How much work is done between two looks at the clock: about a millisecond. */
enum { BUSY_READ_BYTES = 1 << 16, BUSY_READS = 200, BUSY_SPINS = 1000000 };

/* Reading zeros is a plain system call whose whole time is spent in the kernel. */
static int busy_sys(uint64_t until_ns)
{
	static char bytes[BUSY_READ_BYTES];
	AUTO_CLOSE int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	while (clock_mono_ns() < until_ns)
		for (unsigned i = 0; i < BUSY_READS; i++)
			if (read(fd, bytes, sizeof(bytes)) < 0)
				return -errno;
	return 0;
}

static int busy_usr(uint64_t until_ns)
{
	volatile uint64_t x = 1;

	while (clock_mono_ns() < until_ns)
		for (unsigned i = 0; i < BUSY_SPINS; i++)
			x = x * 6364136223846793005u + 1;
	return 0;
}

static int busy_child(struct lab_run *run, void *arg)
{
	(void)arg;
	if (lab_hold_core(run->options.cpu) < 0)
		return -errno;
	if (strcmp(run->options.mode, "rt") == 0) {
		const struct sched_param lowest = { .sched_priority = 1 };
		return sched_setscheduler(0, SCHED_FIFO, &lowest) < 0 ? -errno
								      : busy_usr(run->deadline_ns);
	}
	return strcmp(run->options.mode, "usr") == 0 ? busy_usr(run->deadline_ns)
						     : busy_sys(run->deadline_ns);
}

static int busy_run(struct lab_run *run, struct err *err)
{
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return err_set(err, -errno, "sched_getaffinity: %s", strerror(errno));
	if (!run->options.cpu_set) /* the last one: the first serves most interrupts */
		for (unsigned i = 0; i < CPU_SETSIZE; i++)
			if (CPU_ISSET(i, &allowed))
				run->options.cpu = i;
	if (run->options.cpu >= CPU_SETSIZE || !CPU_ISSET(run->options.cpu, &allowed))
		return err_set(err, -EINVAL, "core %u is not here", run->options.cpu);
	pid_t pid = lab_make_child(run, busy_child, NULL, err);
	if (pid < 0)
		return pid;
	lab_say(run, "process %d holds core %u in %s time for %llu s", pid, run->options.cpu,
		run->options.mode, (unsigned long long)(run->options.length_ns / NS_PER_S));
	return run->options.keep ? 0 : lab_wait_child(run, pid, err);
}

const struct lab_scenario lab_busy_core = {
	.name = "busy-core",
	.summary = "one pinned process at 100 % of a core, in system or user time, or real-time",
	.modes = "sys|usr|rt",
	.defaults = { .length_ns = 10 * NS_PER_S, .mode = "sys" },
	.most_ns = 600 * NS_PER_S,
	.run = busy_run,
};

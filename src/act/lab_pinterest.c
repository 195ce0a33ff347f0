/* The whole incident, as real as this host allows. Where systemd is pid 1, the agent is a real unit
 * (lab_incident_unit.c). Else it is a process in cgroups of the lab's own: an agent crashes again
 * and again; each crash leaves two memory cgroups that something pins: one that the page cache of a
 * file holds (a purge frees it) and one that shared memory holds, which the agent's supervisor
 * leaks (it goes when the supervisor ends). A reader on the core of the NIC's interrupt pays for
 * them: on 5.8 to 7.0 it lives under a memory limit whose reclaim visits every zombie of its
 * subtree; on v1 up to 5.7 it reads memory.numa_stat, which walks all of them. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "auto.h"
#include "lab_incident.h"
#include "lab_scenarios.h"
#include "lab_unit.h"
#include "timefmt.h"

enum {
	PINTEREST_PAGE = 4096,
	PINTEREST_BLOCK = 1 << 20,
	/* what a zombie's structures and page charge to their parent, measured, rounded up */
	PINTEREST_ZOMBIE_BYTES = 28 << 10,
	PINTEREST_ROOM = 24 << 20, /* for the reader's cache */
	PINTEREST_FILE = 192 << 20,
	PINTEREST_SPARE_FDS = 64,
	PINTEREST_READERS = 4,
	PINTEREST_SHARE_MS = 100,   /* of CPU time a second and thread, without zombies */
	PINTEREST_READY_MS = 20000, /* for that first measure */
};

static bool incident_old_v1(const struct lab_run *run)
{
	struct utsname u;
	unsigned major = 0, minor = 0;

	return run->offer.memory == CGROUP_MEMORY_V1 && uname(&u) == 0 &&
	       sscanf(u.release, "%u.%u", &major, &minor) == 2 && major * 1000 + minor <= 5007;
}

/* One crash: the worker is born in its cgroup, leaves something there, and dies. */
static int crash_in(const char *dir, int (*leave)(struct lab_run *run, uint64_t i),
		    struct lab_run *run, uint64_t i, const char *home)
{
	if (mkdir(dir, 0700) < 0)
		return -errno;
	int r = lab_write(dir, "cgroup.procs", "0", NULL);
	if (r == 0)
		r = leave(run, i);
	int back = lab_write(home, "cgroup.procs", "0", NULL);
	if (rmdir(dir) < 0 && r == 0)
		r = -errno;
	return r ? r : back;
}

static int leave_file(struct lab_run *run, uint64_t i)
{
	char path[200], page[PINTEREST_PAGE] = "zscope lab";

	snprintf(path, sizeof(path), "%s/core.%llu", run->scratch_dir, (unsigned long long)i);
	AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : write(fd, page, sizeof(page)) == sizeof(page) ? 0 : -EIO;
}

/* Leaked: nobody closes it until the supervisor ends. */
static int leave_memfd(struct lab_run *run, uint64_t i)
{
	char page[PINTEREST_PAGE] = "zscope lab";
	int fd = memfd_create("agent", MFD_CLOEXEC);

	(void)run, (void)i;
	return fd < 0 ? -errno : write(fd, page, sizeof(page)) == sizeof(page) ? 0 : -EIO;
}

static int agent_child(struct lab_run *run, void *arg)
{
	const struct incident *in = arg;
	struct rlimit files = { run->options.count + PINTEREST_SPARE_FDS,
				run->options.count + PINTEREST_SPARE_FDS };
	struct timespec pause = { .tv_sec = (time_t)(run->options.interval_ns / NS_PER_S),
				  .tv_nsec = (long)(run->options.interval_ns % NS_PER_S) };
	char dir[500];

	prctl(PR_SET_NAME, "lab-agent");
	setrlimit(RLIMIT_NOFILE, &files);
	int r = lab_write(in->home, "cgroup.procs", "0", NULL);
	for (uint64_t i = 0; r == 0 && i < run->options.count && clock_mono_ns() < run->deadline_ns;
	     i++) {
		snprintf(dir, sizeof(dir), "%s/crash-%llu", in->agent, (unsigned long long)i);
		r = crash_in(dir, leave_file, run, i, in->home);
		snprintf(dir, sizeof(dir), "%s/crash-%llu", in->limited, (unsigned long long)i);
		if (r == 0)
			r = crash_in(dir, leave_memfd, run, i, in->home);
		nanosleep(&pause, NULL);
	}
	while (r == 0 && clock_mono_ns() < run->deadline_ns)
		nanosleep(&pause, NULL);
	return r;
}

static int reader_fill(const char *path)
{
	AUTO_FREE char *block = calloc(1, PINTEREST_BLOCK);
	AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (!block || fd < 0)
		return block ? -errno : -ENOMEM;
	for (unsigned done = 0; done < PINTEREST_FILE; done += PINTEREST_BLOCK)
		if (write(fd, block, PINTEREST_BLOCK) != PINTEREST_BLOCK)
			return -EIO;
	/* not in the cache: the reader itself is to be charged for it */
	return fsync(fd) < 0 ? -errno : -posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

/* One piece of the reader's work. */
typedef int (*work_fn)(int fd, char *block);

/* Reads a file that is larger than its limit: every page waits for reclaim, which visits every
 * zombie. */
static int work_reclaim(int fd, char *block)
{
	for (off_t at = 0; at < PINTEREST_FILE; at += PINTEREST_BLOCK)
		if (pread(fd, block, PINTEREST_BLOCK, at) < 0)
			return -errno;
	return 0;
}

static int work_numa_stat(int fd, char *block)
{
	return pread(fd, block, PINTEREST_BLOCK, 0) < 0 ? -errno : 0;
}

struct reader {
	uint64_t deadline_ns, pieces;
	work_fn work;
	int fd;
};

/* As kubelet does: the same work every second. Without zombies it takes a part of a core; with them
 * it does not get done, and the core is full. */
static void *reader_thread(void *arg)
{
	const struct reader *r = arg;
	AUTO_FREE char *block = malloc(PINTEREST_BLOCK);

	while (block && clock_mono_ns() < r->deadline_ns) {
		uint64_t next = clock_mono_ns() + NS_PER_S;
		for (uint64_t i = 0; i < r->pieces && clock_mono_ns() < r->deadline_ns; i++)
			if (r->work(r->fd, block) < 0)
				return NULL;
		struct timespec at = { .tv_sec = (time_t)(next / NS_PER_S),
				       .tv_nsec = (long)(next % NS_PER_S) };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
	}
	return NULL;
}

/* Several threads, so that the core has work while one of them waits for the disk. */
static int reader_work(struct lab_run *run, int ready_fd, work_fn work, int fd)
{
	struct reader r = { .deadline_ns = run->deadline_ns, .work = work, .fd = fd };
	AUTO_FREE char *block = malloc(PINTEREST_BLOCK);
	pthread_t threads[PINTEREST_READERS];
	uint64_t one = 1, began = clock_cpu_ns();
	unsigned n = 0;

	while (block && clock_cpu_ns() - began < PINTEREST_SHARE_MS * NS_PER_MS &&
	       clock_mono_ns() < run->deadline_ns) {
		int error = work(fd, block);
		if (error < 0)
			return error;
		r.pieces++;
	}
	if (write(ready_fd, &one, sizeof(one)) != sizeof(one))
		return -errno;
	for (; n < PINTEREST_READERS; n++)
		if (pthread_create(&threads[n], NULL, reader_thread, &r) != 0)
			break;
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return n ? 0 : -EAGAIN;
}

static int reader_child(struct lab_run *run, void *arg)
{
	const struct incident *in = arg;

	prctl(PR_SET_NAME, "lab-reader");
	if (lab_hold_core(run->options.cpu) < 0)
		return -errno;
	int r = in->units ? lab_unit_enter_scope(run, in->scope, in->slice, NULL)
			  : lab_write(in->reader, "cgroup.procs", "0", NULL);
	if (r < 0)
		return r;
	char path[500];
	if (in->old_v1)
		snprintf(path, sizeof(path), "%s/memory.numa_stat",
			 in->units ? in->limited : run->cgroup_dir);
	else
		snprintf(path, sizeof(path), "%s/data", run->scratch_dir);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno
		      : reader_work(run, in->ready_fd, in->old_v1 ? work_numa_stat : work_reclaim,
				    fd);
}

static int incident_dirs(struct lab_run *run, struct incident *in, struct err *err)
{
	bool v2 = run->offer.memory == CGROUP_MEMORY_V2;
	char limit[32];

	int r = lab_make_cgroup_dir(run, err);
	if (r < 0)
		return r;
	snprintf(in->agent, sizeof(in->agent), "%s/agent", run->cgroup_dir);
	snprintf(in->limited, sizeof(in->limited), "%s/limited", run->cgroup_dir);
	snprintf(in->home, sizeof(in->home), "%s/supervisor", run->cgroup_dir);
	snprintf(in->reader, sizeof(in->reader), "%s/reader", in->limited);
	if (mkdir(in->agent, 0700) < 0 || mkdir(in->limited, 0700) < 0 || mkdir(in->home, 0700) < 0)
		return err_path(err, -errno, run->cgroup_dir);
	snprintf(limit, sizeof(limit), "%llu", (unsigned long long)in->limit_bytes);
	r = lab_write(in->limited, v2 ? "memory.max" : "memory.limit_in_bytes", limit, err);
	if (r == 0 && v2)
		r = lab_write(in->limited, "cgroup.subtree_control", "+memory", err);
	if (r == 0 && v2)
		r = lab_write(in->agent, "cgroup.subtree_control", "+memory", err);
	if (r == 0 && mkdir(in->reader, 0700) < 0)
		return err_path(err, -errno, in->reader);
	return r;
}

static int incident_prepare(struct lab_run *run, struct incident *in, struct err *err)
{
	char path[200];

	in->limit_bytes = run->options.count * PINTEREST_ZOMBIE_BYTES + PINTEREST_ROOM;
	int r = lab_make_scratch(run, err);
	if (r == 0)
		r = in->units ? incident_units_prepare(run, in, err) : incident_dirs(run, in, err);
	if (r < 0 || in->old_v1)
		return r;
	snprintf(path, sizeof(path), "%s/data", run->scratch_dir);
	r = reader_fill(path);
	return r < 0 ? err_path(err, r, path) : 0;
}

/* The crash loop; *ret_agent is its process where it is one of the lab's own. */
static int incident_start_agent(struct lab_run *run, struct incident *in, pid_t *ret_agent,
				struct err *err)
{
	if (in->units)
		return incident_units_start(run, in, err);
	*ret_agent = lab_make_child(run, agent_child, in, err);
	if (*ret_agent < 0)
		return *ret_agent;
	lab_say(run, "%s",
		strcmp(run->options.mode, "process") == 0
			? "as a process of the lab's own, as asked for: no unit, no containers"
			: "pid 1 is not systemd: no unit can be made, a process stands for it");
	lab_say(run,
		"lab-agent (pid %d) crashes every %llu ms, two memory cgroups stay behind each "
		"time",
		*ret_agent, (unsigned long long)(run->options.interval_ns / NS_PER_MS));
	return 0;
}

static int pinterest_run(struct lab_run *run, struct err *err)
{
	struct incident in = { .old_v1 = incident_old_v1(run), .units = lab_unit_wanted(run) };
	pid_t agent = 0;

	/* where the NIC's interrupt is, so that the reader starves it */
	if (!run->options.cpu_set && lab_nic_core(run, &run->options.cpu) < 0)
		run->options.cpu = (unsigned)sysconf(_SC_NPROCESSORS_ONLN) - 1;
	int r = incident_prepare(run, &in, err);
	if (r < 0)
		return r;
	AUTO_CLOSE int ready = in.ready_fd = eventfd(0, EFD_CLOEXEC);
	pid_t reader = lab_make_child(run, reader_child, &in, err);
	if (reader < 0)
		return reader;
	struct pollfd measured = { .fd = ready, .events = POLLIN };
	if (poll(&measured, 1, PINTEREST_READY_MS) <= 0)
		return err_set(err, -ETIMEDOUT, "the reader did not begin");
	r = incident_start_agent(run, &in, &agent, err);
	if (r < 0)
		return r;
	lab_say(run, "lab-reader (pid %d%s%s) pays for them on core %u: %s", reader,
		in.units ? ", in " : "", in.units ? in.scope : "", run->options.cpu,
		in.old_v1 ? "it reads memory.numa_stat, which walks them all"
			  : "its reclaim under a memory limit visits them all");
	if (run->options.keep)
		return 0;
	r = lab_wait_child(run, reader, err);
	return r < 0 || !agent ? r : lab_wait_child(run, agent, err);
}

const struct lab_scenario lab_pinterest = {
	.name = "pinterest",
	.summary = "the whole incident: a crash loop leaves zombies, and a reader pays for them on "
		   "one core",
	.modes = "auto|unit|process",
	.defaults = { .count = 6000,
		      .length_ns = 60 * NS_PER_S,
		      .interval_ns = 2 * NS_PER_MS,
		      .mode = "auto" },
	.most_count = 20000,
	.most_ns = 600 * NS_PER_S,
	.run = pinterest_run,
};

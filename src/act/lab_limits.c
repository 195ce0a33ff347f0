/* Cgroups at their limits: one that its CPU quota throttles, one whose reads keep reclaiming its
 * own page cache. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "lab_scenarios.h"
#include "timefmt.h"

enum {
	LIMITS_BLOCK = 1 << 20,
	LIMITS_MEMORY = 24 << 20, /* of the cgroup that reclaims */
	LIMITS_SPINS = 100000,
};

/* cpu hierarchy of its own on v1; on v2 the lab's one directory serves all controllers. */
static int make_cpu_dir(struct lab_run *run, char *ret, size_t size, struct err *err)
{
	if (run->offer.cpu_v1.dir[0]) {
		snprintf(ret, size, "/%s/zscope-lab-%s", run->offer.cpu_v1.dir, run->id);
	} else {
		int r = lab_make_cgroup_dir(run, err);
		if (r == 0)
			r = lab_write(run->cgroup_dir, "cgroup.subtree_control", "+cpu", err);
		if (r < 0)
			return r;
		snprintf(ret, size, "%s/quota", run->cgroup_dir);
	}
	int r = lab_journal_add(run->journal, LAB_TRACE_CGROUP, ret, err);
	if (r < 0)
		return r;
	return mkdir(ret, 0700) < 0 ? err_path(err, -errno, ret) : 0;
}

static int quota_child(struct lab_run *run, void *arg)
{
	volatile uint64_t x = 1;

	int r = lab_write(arg, "cgroup.procs", "0", NULL);
	if (r < 0)
		return r;
	while (clock_mono_ns() < run->deadline_ns)
		for (unsigned i = 0; i < LIMITS_SPINS; i++)
			x = x * 6364136223846793005u + 1;
	return 0;
}

static int quota_run(struct lab_run *run, struct err *err)
{
	char dir[400];

	int r = make_cpu_dir(run, dir, sizeof(dir), err);
	if (r < 0)
		return r;
	if (run->offer.cpu_v1.dir[0]) {
		r = lab_write(dir, "cpu.cfs_period_us", "100000", err);
		if (r == 0)
			r = lab_write(dir, "cpu.cfs_quota_us", "20000", err);
	} else {
		r = lab_write(dir, "cpu.max", "20000 100000", err);
	}
	if (r < 0)
		return r;
	pid_t pid = lab_make_child(run, quota_child, dir, err);
	if (pid < 0)
		return pid;
	lab_say(run, "process %d wants a core and gets a fifth of it, below %s", pid, dir);
	return run->options.keep ? 0 : lab_wait_child(run, pid, err);
}

const struct lab_scenario lab_quota = {
	.name = "quota-throttle",
	.summary = "a process that its cgroup's CPU quota throttles in every period",
	.defaults = { .length_ns = 20 * NS_PER_S },
	.most_ns = 600 * NS_PER_S,
	.run = quota_run,
};

static int reclaim_fill(const char *path, uint64_t bytes)
{
	static char block[LIMITS_BLOCK];
	AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	for (uint64_t done = 0; done < bytes; done += sizeof(block))
		if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			return errno ? -errno : -EIO;
	return 0;
}

/* Dirties and reads a file several times its limit, again and again: each page waits for another to
 * go. */
static int reclaim_child(struct lab_run *run, void *arg)
{
	static char block[LIMITS_BLOCK];
	char path[200];

	int r = lab_write(arg, "cgroup.procs", "0", NULL);
	snprintf(path, sizeof(path), "%s/%d", run->scratch_dir, getpid());
	if (r == 0)
		r = reclaim_fill(path, run->options.size_bytes);
	AUTO_CLOSE int fd = open(path, O_RDWR | O_CLOEXEC);
	if (r < 0 || fd < 0)
		return r < 0 ? r : -errno;
	while (clock_mono_ns() < run->deadline_ns) {
		for (uint64_t at = 0;
		     at < run->options.size_bytes && clock_mono_ns() < run->deadline_ns;
		     at += sizeof(block)) {
			if (pread(fd, block, sizeof(block), (off_t)at) < 0 ||
			    pwrite(fd, block, sizeof(block) / 4, (off_t)at) < 0)
				return -errno;
		}
	}
	return 0;
}

static int reclaim_run(struct lab_run *run, struct err *err)
{
	char dir[400], limit[32];
	bool v2 = run->offer.memory == CGROUP_MEMORY_V2;

	int r = lab_make_cgroup_dir(run, err);
	if (r == 0)
		r = lab_make_scratch(run, err);
	if (r < 0)
		return r;
	snprintf(dir, sizeof(dir), "%s/limited", run->cgroup_dir);
	snprintf(limit, sizeof(limit), "%d", LIMITS_MEMORY);
	if (mkdir(dir, 0700) < 0)
		return err_path(err, -errno, dir);
	r = lab_write(dir, v2 ? "memory.max" : "memory.limit_in_bytes", limit, err);
	for (uint64_t i = 0; r == 0 && i < run->options.count; i++) {
		pid_t pid = lab_make_child(run, reclaim_child, dir, err);
		if (pid < 0)
			return pid;
		if (i + 1 == run->options.count) {
			lab_say(run,
				"%llu processes read and write %llu MiB each under a limit of %d "
				"MiB, below %s",
				(unsigned long long)run->options.count,
				(unsigned long long)(run->options.size_bytes >> 20),
				LIMITS_MEMORY >> 20, dir);
			return run->options.keep ? 0 : lab_wait_child(run, pid, err);
		}
	}
	return r;
}

const struct lab_scenario lab_reclaim = {
	.name = "reclaim",
	.summary = "processes that read and write far more than their cgroup's memory limit",
	.defaults = { .count = 4, .length_ns = 20 * NS_PER_S, .size_bytes = 96 << 20 },
	.most_count = 16,
	.most_size_bytes = 1 << 30,
	.most_ns = 600 * NS_PER_S,
	.run = reclaim_run,
};

/* Real zombie memory cgroups: made, charged, removed; what was charged keeps them. One worker
 * process does it and then stays as the holder of what must be held (open deleted files, mappings,
 * children that nobody reaps). */
#include <errno.h>
#include <fcntl.h>
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
#include <sys/wait.h>
#include <unistd.h>

#include "auto.h"
#include "lab_scenarios.h"
#include "timefmt.h"

enum { ZOMBIE_SPARE_FDS = 64, ZOMBIE_PAGE = 4096 };

struct zombie_work {
	int done_fd;    /* eventfd: the worker says that all stand */
	char home[320]; /* the cgroup that the worker lives in between */
};

/* Opens the file outside of the cgroup, so that the file system's own blocks are not charged to it.
 * -1 = needs none. */
typedef int (*prepare_fn)(struct lab_run *run, uint64_t i);
/* Makes what will hold the cgroup, while the worker is in it; closes fd unless it must stay. 0 or a
 * negative errno. */
typedef int (*pin_fn)(struct lab_run *run, int fd);

static int write_file(int fd, uint64_t bytes)
{
	static const char page[ZOMBIE_PAGE] = "zscope lab";

	for (uint64_t done = 0; done < bytes; done += sizeof(page)) {
		size_t n = MIN_OF(sizeof(page), bytes - done);
		if (write(fd, page, n) != (ssize_t)n)
			return errno ? -errno : -EIO;
	}
	return 0;
}

static int open_new(const char *dir, uint64_t i)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/f%llu", dir, (unsigned long long)i);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

static int prepare_file(struct lab_run *run, uint64_t i)
{
	return open_new(run->scratch_dir, i);
}

static int prepare_tmpfs(struct lab_run *run, uint64_t i)
{
	return open_new(run->shm_dir, i);
}

static int prepare_deleted(struct lab_run *run, uint64_t i)
{
	char path[200];
	int fd = open_new(run->scratch_dir, i);

	snprintf(path, sizeof(path), "%s/f%llu", run->scratch_dir, (unsigned long long)i);
	return fd >= 0 && unlink(path) < 0 ? -errno : fd;
}

static int prepare_nothing(struct lab_run *run, uint64_t i)
{
	(void)run, (void)i;
	return -1;
}

static int pin_written(struct lab_run *run, int fd)
{
	int r = write_file(fd, run->options.size_bytes);
	close(fd);
	return r;
}

/* Stays open in this process until it ends. */
static int pin_deleted(struct lab_run *run, int fd)
{
	return write_file(fd, run->options.size_bytes);
}

static int pin_mmap(struct lab_run *run, int fd)
{
	int r = write_file(fd, run->options.size_bytes);
	void *map = r < 0 ? MAP_FAILED
			  : mmap(NULL, run->options.size_bytes, PROT_READ,
				 MAP_SHARED | MAP_POPULATE, fd, 0);
	if (r == 0 && map == MAP_FAILED)
		r = -errno;
	close(fd);
	return r;
}

/* A child that ends in the cgroup and is never reaped, because the worker does not wait. */
static int pin_process(struct lab_run *run, int fd)
{
	(void)run, (void)fd;
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		_exit(0);
	siginfo_t info;
	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 ? -errno : 0;
}

/* A child whose cgroup namespace is rooted here; it leaves the cgroup and sleeps. */
static int pin_namespace(struct lab_run *run, int fd)
{
	int ready[2];
	char byte = 0;

	(void)fd;
	if (pipe2(ready, O_CLOEXEC) < 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0) {
		char home[400];
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		snprintf(home, sizeof(home), "%s/holder", run->cgroup_dir);
		byte = unshare(CLONE_NEWCGROUP) == 0 &&
		       lab_write(home, "cgroup.procs", "0", NULL) == 0;
		if (write(ready[1], &byte, 1) != 1 || !byte)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	bool ok = pid > 0 && read(ready[0], &byte, 1) == 1 && byte;
	close(ready[0]);
	return ok ? 0 : -EPERM;
}

static const struct {
	const char *mode;
	prepare_fn prepare;
	pin_fn pin;
} pins[] = {
	{ "file", prepare_file, pin_written },
	{ "deleted", prepare_deleted, pin_deleted },
	{ "tmpfs", prepare_tmpfs, pin_written },
	{ "mmap", prepare_file, pin_mmap },
	{ "process", prepare_nothing, pin_process },
	{ "namespace", prepare_nothing, pin_namespace },
};
enum { PINS_IN_MIX = 4 };

static size_t pin_of(const struct lab_run *run, uint64_t i)
{
	for (size_t k = 0; k < ARRAY_LEN(pins); k++)
		if (strcmp(pins[k].mode, run->options.mode) == 0)
			return k;
	return i % PINS_IN_MIX;
}

static int make_zombie(struct lab_run *run, const struct zombie_work *work, uint64_t i)
{
	size_t k = pin_of(run, i);
	char dir[400];

	snprintf(dir, sizeof(dir), "%s/z%llu-%s", run->cgroup_dir, (unsigned long long)i,
		 pins[k].mode);
	if (mkdir(dir, 0700) < 0)
		return -errno;
	int fd = pins[k].prepare(run, i);
	if (fd < -1)
		return fd;
	int r = lab_write(dir, "cgroup.procs", "0", NULL);
	if (r == 0)
		r = pins[k].pin(run, fd);
	int back = lab_write(work->home, "cgroup.procs", "0", NULL);
	if (r == 0)
		r = back;
	if (rmdir(dir) < 0 && r == 0)
		r = -errno;
	return r;
}

static int zombies_child(struct lab_run *run, void *arg)
{
	struct zombie_work *work = arg;
	struct rlimit files = { run->options.count + ZOMBIE_SPARE_FDS,
				run->options.count + ZOMBIE_SPARE_FDS };
	uint64_t one = 1;

	setrlimit(RLIMIT_NOFILE, &files);
	for (uint64_t i = 0; i < run->options.count; i++) {
		int r = make_zombie(run, work, i);
		if (r < 0)
			return r;
		if (clock_mono_ns() > run->deadline_ns)
			return -ETIMEDOUT;
	}
	if (write(work->done_fd, &one, sizeof(one)) != sizeof(one))
		return -errno;
	for (;;) /* ended by lab clean, the dead man or the alarm */
		pause();
}

static int zombies_wait(struct lab_run *run, const struct zombie_work *work, pid_t pid,
			struct err *err)
{
	struct timespec pause = { .tv_nsec = 5 * (long)NS_PER_MS };
	uint64_t value;

	while (read(work->done_fd, &value, sizeof(value)) < 0) {
		siginfo_t info = { 0 };
		if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid)
			return lab_wait_child(run, pid, err);
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int zombies_run(struct lab_run *run, struct err *err)
{
	struct zombie_work work;
	struct timespec pause = { .tv_nsec = 50 * (long)NS_PER_MS };

	int r = lab_make_cgroup_dir(run, err);
	if (r == 0)
		r = lab_make_scratch(run, err);
	if (r == 0)
		r = lab_make_shm(run, err);
	if (r < 0)
		return r;
	snprintf(work.home, sizeof(work.home), "%s/holder", run->cgroup_dir);
	if (mkdir(work.home, 0700) < 0)
		return err_path(err, -errno, work.home);
	work.done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	AUTO_CLOSE int done_fd = work.done_fd;
	(void)done_fd;
	pid_t pid = lab_make_child(run, zombies_child, &work, err);
	if (pid < 0)
		return pid;
	r = zombies_wait(run, &work, pid, err);
	if (r < 0)
		return r;
	lab_say(run, "%llu memory cgroups made and removed below %s, held by: %s",
		(unsigned long long)run->options.count, run->cgroup_dir, run->options.mode);
	while (!run->options.keep && clock_mono_ns() < run->deadline_ns)
		nanosleep(&pause, NULL);
	return 0;
}

const struct lab_scenario lab_zombies = {
	.name = "zombies",
	.summary = "memory cgroups that are removed while page cache, tmpfs, mappings or processes "
		   "hold them",
	.modes = "file|deleted|tmpfs|mmap|process|namespace|mix",
	.defaults = { .count = 100,
		      .length_ns = 60 * NS_PER_S,
		      .size_bytes = ZOMBIE_PAGE,
		      .mode = "file" },
	.most_count = 100000,
	.most_size_bytes = 64 << 20,
	.most_ns = 3600 * NS_PER_S,
	.run = zombies_run,
};

#include "lab_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "auto.h"
#include "timefmt.h"

/* The cgroup's directories, one by one; those above the last may stand already. */
static int loop_mkdirs(struct lab_run *run, const char *name, char ret[400])
{
	char *p;

	snprintf(ret, 400, "%s/%s", run->cgroup_dir, name);
	p = ret + strlen(run->cgroup_dir) + 1;
	for (char *slash; (slash = strchr(p, '/')); p = slash + 1) {
		*slash = '\0';
		int r = mkdir(ret, 0700) < 0 && errno != EEXIST ? -errno : 0;
		*slash = '/';
		if (r < 0)
			return r;
	}
	return mkdir(ret, 0700) < 0 ? -errno : 0;
}

/* Runs in the new cgroup: leaves a file and dies. */
static void loop_victim(struct lab_run *run, const struct lab_loop *loop, const char *dir,
			uint64_t i)
{
	static const char page[4096] = "zscope lab";
	char path[200];

	if (lab_write(dir, "cgroup.procs", "0", NULL) < 0)
		_exit(200);
	if (loop->leaves_nothing)
		_exit(loop->exit_code);
	/* several loops may share the directory */
	snprintf(path, sizeof(path), "%s/turn-%d-%llu", run->scratch_dir, (int)getppid(),
		 (unsigned long long)i);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	for (uint64_t done = 0; fd >= 0 && done < run->options.size_bytes; done += sizeof(page))
		if (write(fd, page, sizeof(page)) != (ssize_t)sizeof(page))
			_exit(201);
	_exit(fd < 0 ? 202 : loop->exit_code);
}

static int loop_turn(struct lab_run *run, const struct lab_loop *loop, uint64_t i)
{
	char name[200], dir[400];
	int status;

	loop->name(name, sizeof(name), i);
	int r = loop_mkdirs(run, name, dir);
	if (r < 0)
		return r;
	pid_t pid = fork();
	if (pid == 0)
		loop_victim(run, loop, dir, i);
	if (pid < 0)
		return -errno;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != loop->exit_code)
		return -EIO;
	return rmdir(dir) < 0 ? -errno : 0;
}

void lab_loop_pause(uint64_t *next_ns, uint64_t interval_ns)
{
	*next_ns += interval_ns;
	uint64_t now = clock_mono_ns();
	if (*next_ns > now) {
		struct timespec pause = { .tv_sec = (time_t)((*next_ns - now) / NS_PER_S),
					  .tv_nsec = (long)((*next_ns - now) % NS_PER_S) };
		nanosleep(&pause, NULL);
	}
}

/* The supervisor, a child of its own so that `lab clean` ends it by pid. */
static int loop_supervise(struct lab_run *run, void *arg)
{
	const struct lab_loop *loop = arg;
	uint64_t next_ns = clock_mono_ns();

	for (uint64_t i = 0; i < run->options.count && clock_mono_ns() < run->deadline_ns; i++) {
		int r = loop_turn(run, loop, i);
		if (r < 0)
			return r;
		lab_loop_pause(&next_ns, run->options.interval_ns);
	}
	return 0;
}

int lab_loop_run(struct lab_run *run, const struct lab_loop *loop, struct err *err)
{
	int r = lab_make_cgroup_dir(run, err);

	if (r == 0)
		r = lab_make_scratch(run, err);
	if (r < 0)
		return r;
	pid_t pid = lab_make_child(run, loop_supervise, (void *)loop, err);
	if (pid < 0)
		return pid;
	lab_say(run, "process %d starts something every %llu ms below %s; each leaves %s", (int)pid,
		(unsigned long long)(run->options.interval_ns / NS_PER_MS), run->cgroup_dir,
		loop->leaves_nothing ? "nothing" : "a zombie");
	return run->options.keep ? 0 : lab_wait_child(run, pid, err);
}

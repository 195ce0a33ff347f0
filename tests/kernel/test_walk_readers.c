/* Who reads memory.stat, on the real kernel: a process that does nothing else is found with the
 * file that it has open; one that is as busy in the kernel with another file is not. And on a
 * kernel whose reads are flat nobody is looked for. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "auto.h"
#include "collect.h"
#include "rule.h"

static pid_t start_reader(const char *path)
{
	static char bytes[1 << 16];
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(60);
	while (getppid() == parent) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		for (unsigned i = 0; i < 50; i++)
			if (pread(fd, bytes, sizeof(bytes), 0) < 0)
				_exit(1);
		close(fd);
	}
	_exit(0);
}

static const struct fact_reader *reader_of(const struct collected *c, pid_t pid)
{
	vec_foreach (&c->facts.readers, r)
		if (r->pid == (uint64_t)pid)
			return r;
	return NULL;
}

int main(void)
{
	AUTO_ROOT struct root root = { .fd = -1 };
	AUTO_COLLECTED struct collected c = { 0 }, flat = { 0 };
	const char *path = "/sys/fs/cgroup/memory/memory.stat";
	struct err err = { 0 };

	if (access(path, R_OK) < 0)
		path = "/sys/fs/cgroup/memory.stat";
	if (access(path, R_OK) < 0 || root_open(NULL, &root, &err) < 0) {
		puts("no memory.stat at the root of the hierarchy");
		return 77;
	}
	pid_t walker = start_reader(path), other = start_reader("/dev/zero");
	/* a share of a core that a busy machine still leaves them */
	int r = collect_readers(&root, 2, &c);
	const struct fact_reader *found = reader_of(&c, walker), *not_it = reader_of(&c, other);
	int status = r < 0;
	if (!found || !found->seen || !found->file || strcmp(found->file, path) != 0) {
		printf("FAILED: the reader of %s is not found\n", path);
		status = 1;
	}
	if (!not_it || not_it->seen) {
		puts("FAILED: the reader of /dev/zero is not found as busy, or is taken for one of "
		     "memory.stat");
		status = 1;
	}
	struct collect_window w = { .live = &root };
	if (collect_reads(&w, &flat, &err) < 0 || !(flat.facts.have & FACT_READS) ||
	    !flat.facts.walk_read_ns) {
		printf("FAILED: what a read costs is not measured: %s\n", err.text);
		status = 1;
	}
	if (flat.facts.walk_read_ns < thresholds_default.walk_read_ns && flat.facts.readers.len) {
		puts("FAILED: reads are cheap here, and somebody is blamed");
		status = 1;
	}
	kill(walker, SIGKILL);
	kill(other, SIGKILL);
	waitpid(walker, NULL, 0);
	waitpid(other, NULL, 0);
	if (!status)
		printf("seen in %u of %u looks; a read takes %.2f ms here\n", found->seen,
		       found->looked, (double)flat.facts.walk_read_ns / 1e6);
	return status;
}

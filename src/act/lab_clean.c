/* `lab clean`: end the processes, then remove files, cgroups and mounts, in an order in which
 * nothing holds what comes next. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "auto.h"
#include "lab.h"
#include "lab_docker.h"
#include "lab_state.h"
#include "lab_unit.h"
#include "text.h"
#include "timefmt.h"

enum { CLEAN_DEPTH = 64, CLEAN_WAIT_MS = 5000, CLEAN_TRIES = 100, CLEAN_ORPHAN_S = 7200 };

const char *lab_state_dir(void)
{
	const char *dir = getenv("ZSCOPE_LAB_STATE");
	return dir && *dir == '/' ? dir : "/run/zscope-lab";
}

int lab_state_refused(struct err *err, int code, const char *path)
{
	if (code == -EACCES || code == -EPERM)
		return err_set(err, code, "%s: %s: the lab needs root", path, strerror(-code));
	return err_path(err, code, path);
}

int lab_state_make(struct err *err)
{
	if (mkdir(lab_state_dir(), 0700) < 0 && errno != EEXIST)
		return lab_state_refused(err, -errno, lab_state_dir());
	return 0;
}

static void failed(struct lab_cleaned *ret, struct err *err, int code, const char *what)
{
	if (!ret->left++)
		err_path(err, code, what);
}

/* By pid and start time, through a pidfd, so that no reused pid is ever hit. */
static void clean_process(const struct lab_trace_line *line, struct lab_cleaned *ret,
			  struct err *err)
{
	uint64_t start;

	if (line->pid == getpid())
		return;
	AUTO_CLOSE int fd = (int)syscall(SYS_pidfd_open, line->pid, 0);
	if (fd < 0 || lab_journal_start_time(line->pid, &start) < 0 || start != line->start_time)
		return;
	if (syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) < 0) {
		if (errno != ESRCH)
			failed(ret, err, -errno, line->value);
		return;
	}
	struct pollfd p = { .fd = fd, .events = POLLIN };
	if (poll(&p, 1, CLEAN_WAIT_MS) == 0)
		failed(ret, err, -ETIMEDOUT, line->value);
	ret->processes++;
}

/* rmdir fails with EBUSY while the last process is still leaving. */
static int rmdir_patient(int dir, const char *name)
{
	struct timespec pause = { .tv_nsec = 10 * (long)NS_PER_MS };

	for (unsigned i = 0; i < CLEAN_TRIES; i++) {
		if (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return 0;
		if (errno != EBUSY)
			break;
		nanosleep(&pause, NULL);
	}
	return -errno;
}

/* Everything below an open directory. Cgroup files cannot be unlinked and need not be. */
static int clean_below(int dir_fd, bool cgroup, unsigned depth, struct lab_cleaned *ret)
{
	int dup_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3);
	AUTO_CLOSEDIR DIR *dir = dup_fd < 0 ? NULL : fdopendir(dup_fd);
	struct dirent *e;
	int r = 0;

	if (!dir || depth > CLEAN_DEPTH)
		return -ELOOP;
	rewinddir(dir);
	while ((e = readdir(dir))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		AUTO_CLOSE int sub =
			openat(dir_fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub >= 0) {
			int below = clean_below(sub, cgroup, depth + 1, ret);
			int own = below < 0 ? below : rmdir_patient(dir_fd, e->d_name);
			r = own < 0 ? own : r;
			ret->cgroups += cgroup && own == 0;
		} else if (!cgroup) {
			if (unlinkat(dir_fd, e->d_name, 0) < 0)
				r = -errno;
			else
				ret->files++;
		}
	}
	return r;
}

static void clean_tree(const char *path, bool cgroup, struct lab_cleaned *ret, struct err *err)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0) {
		if (errno != ENOENT)
			failed(ret, err, -errno, path);
		return;
	}
	int r = -ENOTEMPTY;
	/* a unit that loops may leave one more file before it sees that its directory is gone */
	for (unsigned i = 0; r == -ENOTEMPTY && i < CLEAN_TRIES; i++) {
		r = clean_below(fd, cgroup, 0, ret);
		if (r == 0)
			r = rmdir_patient(AT_FDCWD, path);
	}
	if (r < 0)
		failed(ret, err, r, path);
	else
		ret->cgroups += cgroup;
}

static void clean_line(const struct lab_trace_line *line, enum lab_trace pass,
		       struct lab_cleaned *ret, struct err *err)
{
	if (line->trace != pass)
		return;
	switch (line->trace) {
	case LAB_TRACE_PID:
		clean_process(line, ret, err);
		break;
	case LAB_TRACE_MOUNT:
		if (umount2(line->value, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
			ret->mounts++;
		else if (errno != EINVAL && errno != ENOENT)
			failed(ret, err, -errno, line->value);
		break;
	case LAB_TRACE_FILE:
		if (unlink(line->value) == 0)
			ret->files++;
		else if (errno != ENOENT)
			failed(ret, err, -errno, line->value);
		break;
	case LAB_TRACE_DIR:
	case LAB_TRACE_CGROUP:
		clean_tree(line->value, line->trace == LAB_TRACE_CGROUP, ret, err);
		break;
	case LAB_TRACE_CONTAINER:
	case LAB_TRACE_IMAGE:
		if (lab_docker_remove(line->value, line->trace == LAB_TRACE_IMAGE, err) < 0)
			ret->left++;
		break;
	case LAB_TRACE_UNIT:
		if (lab_unit_remove(line->value, err) < 0)
			ret->left++;
		else
			ret->units++;
		break;
	case LAB_TRACE_END:
		break;
	}
}

static void clean_run(const char *state_dir, struct lab_cleaned *ret, struct err *err)
{
	/* units before containers: one of them may make the next container */
	static const enum lab_trace order[] = {
		LAB_TRACE_PID,   LAB_TRACE_UNIT, LAB_TRACE_CONTAINER, LAB_TRACE_IMAGE,
		LAB_TRACE_MOUNT, LAB_TRACE_FILE, LAB_TRACE_DIR,       LAB_TRACE_CGROUP,
	};
	AUTO_LAB_TRACES struct lab_traces traces = { 0 };
	unsigned left = ret->left;

	int r = lab_journal_read(state_dir, &traces, err);
	if (r < 0 && r != -ENOENT) {
		failed(ret, err, r, state_dir);
		return;
	}
	for (size_t pass = 0; pass < ARRAY_LEN(order); pass++)
		vec_foreach (&traces.list, line)
			clean_line(line, order[pass], ret, err);
	if (ret->left == left)
		clean_tree(state_dir, false, ret, err);
	ret->runs++;
}

/* No run lasts longer than an hour: what is younger may belong to one that keeps its journal
 * elsewhere. */
static bool is_old(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       clock_real_ns() / NS_PER_S > (uint64_t)st.st_mtime + CLEAN_ORPHAN_S;
}

/* Directories of runs whose journal was lost, for instance with /run at a reboot. */
static void clean_orphans(const char *below, bool cgroup, struct lab_cleaned *ret, struct err *err)
{
	AUTO_CLOSEDIR DIR *dir = opendir(below);
	struct dirent *e;
	char path[700];

	while (dir && (e = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", below, e->d_name);
		if (text_starts(e->d_name, "zscope-lab-") && lab_journal_is_ours(path) &&
		    is_old(dirfd(dir), e->d_name))
			clean_tree(path, cgroup, ret, err);
	}
}

static void clean_all_orphans(struct lab_cleaned *ret, struct err *err)
{
	AUTO_ROOT struct root root = { .fd = -1 };
	struct offer offer;
	char dir[300];

	clean_orphans("/var/tmp", false, ret, err);
	clean_orphans("/dev/shm", false, ret, err);
	if (root_open(NULL, &root, NULL) < 0)
		return;
	offer_read(&root, &offer);
	const struct offer_mount *mount = offer_memory_mount(&offer);
	if (!mount)
		return;
	snprintf(dir, sizeof(dir), "/%s", mount->dir);
	clean_orphans(dir, true, ret, err);
}

int lab_clean(const char *id, struct lab_cleaned *ret, struct err *err)
{
	AUTO_CLOSEDIR DIR *dir = opendir(lab_state_dir());
	struct lab_cleaned cleaned = { 0 };
	struct dirent *e;
	char path[500];

	if (!dir && errno != ENOENT)
		return lab_state_refused(err, -errno, lab_state_dir());
	while (dir && (e = readdir(dir))) {
		if (!text_starts(e->d_name, "zscope-lab-") ||
		    (id && strcmp(e->d_name + strlen("zscope-lab-"), id) != 0))
			continue;
		snprintf(path, sizeof(path), "%s/%s", lab_state_dir(), e->d_name);
		clean_run(path, &cleaned, err);
	}
	if (!id)
		clean_all_orphans(&cleaned, err);
	rmdir(lab_state_dir());
	if (id && !cleaned.runs)
		return err_set(err, -ENOENT, "no lab run '%s' here", id);
	*ret = cleaned;
	return cleaned.left ? err_prefix(err, -EBUSY, "%u things are left", cleaned.left) : 0;
}

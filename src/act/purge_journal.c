/* What a purge changes for the time being: written down before, undone afterwards, also after a
 * crash. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "auto.h"
#include "buf.h"
#include "purge_impl.h"
#include "text.h"

enum { JOURNAL_CAP = 16 << 20, JOURNAL_LINE = 1200 };
enum { LOCK_TRIES = 600, LOCK_EVERY_MS = 100 };

static const char *journal_path(void)
{
	const char *path = getenv("ZSCOPE_PURGE_JOURNAL");
	return path && *path == '/' ? path : "/run/zscope-purge.journal";
}

int purge_lock(struct err *err)
{
	const struct timespec pause = { .tv_nsec = LOCK_EVERY_MS * 1000000L };
	char path[JOURNAL_LINE];

	snprintf(path, sizeof(path), "%s.lock", journal_path());
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_path(err, -errno, path);
	for (unsigned i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return TAKE_FD(fd);
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_path(err, -errno, path);
		if (purge_stopped(err) < 0)
			return -EINTR;
		nanosleep(&pause, NULL);
	}
	return err_set(err, -EBUSY, "another purge is at work for more than a minute (%s)", path);
}

/* Only what lies in a cgroup v2 hierarchy, wherever that is mounted, is ever written down or
 * undone. -ENOENT = it is gone, and with it what was changed. */
static int restorable(const char *path)
{
	char dir[JOURNAL_LINE];
	struct statfs fs;
	const char *name = strrchr(path, '/');

	if (*path != '/' || name == path || strstr(path, "/../") || strchr(path, '\n') ||
	    !text_copy_n(dir, sizeof(dir), path, (size_t)(name - path)))
		return -EBADMSG;
	if (statfs(dir, &fs) < 0)
		return -errno;
	return fs.f_type == CGROUP2_SUPER_MAGIC ? 0 : -EBADMSG;
}

/* A cgroup of ours that has no process and no child; the kernel refuses to remove any other. */
static int restore_rmdir(const char *path)
{
	const char *name = strrchr(path, '/');

	if (!name || !text_starts(name + 1, PURGE_NUDGE))
		return -EBADMSG;
	return rmdir(path) == 0 || errno == ENOENT ? 0 : -errno;
}

/* "VALUE PATH" per line; the path is the rest of the line. Only memory.min files of cgroups are
 * ever written; with the value "rmdir" a cgroup that we made is removed. */
static int restore_line(const char *line, size_t len)
{
	char copy[JOURNAL_LINE];
	char *blank;

	if (!text_copy_n(copy, sizeof(copy), line, len) || !(blank = strchr(copy, ' ')))
		return -EBADMSG;
	*blank = '\0';
	const char *path = blank + 1;
	int r = restorable(path);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (strcmp(copy, "rmdir") == 0)
		return restore_rmdir(path);
	if (!text_ends(path, "/memory.min"))
		return -EBADMSG;
	r = purge_write_text(path, copy);
	return r == -ENOENT || r == -ENODEV ? 0 : r;
}

/* All lines are tried; *ret counts those that are undone. The first that cannot be is returned as
 * its number. */
static unsigned restore_lines(const char *text, unsigned *ret, int *ret_error)
{
	unsigned number = 0, first = 0;

	for (const char *p = text; p && *p; p = text_next_line(p)) {
		int r = restore_line(p, text_line_len(p));
		number++;
		*ret += r == 0;
		if (r < 0 && !first) {
			first = number;
			*ret_error = r;
		}
	}
	return first;
}

int purge_journal_undo(unsigned *ret, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_ROOT struct root root = { .fd = -1 };
	int why = 0;

	*ret = 0;
	int r = root_open(NULL, &root, err);
	if (r < 0)
		return r;
	r = root_read(&root, journal_path() + 1, JOURNAL_CAP, &text, err);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	unsigned first = restore_lines(buf_str(&text), ret, &why);
	if (first)
		return err_set(err, why,
			       "line %u of %s is not undone: %s (%u others are); undo it by hand "
			       "and remove the file",
			       first, journal_path(),
			       why == -EBADMSG ? "it names nothing that a purge changes"
					       : strerror(-why),
			       *ret);
	return unlink(journal_path()) < 0 ? err_path(err, -errno, journal_path()) : 0;
}

int purge_restore(unsigned *ret, struct err *err)
{
	AUTO_CLOSE int lock = purge_lock(err); /* what a running one wrote down is still needed */

	return lock < 0 ? lock : purge_journal_undo(ret, err);
}

int purge_journal_new(const char *path, struct err *err)
{
	int r = restorable(path);

	if (r < 0)
		return err_set(err, r, "%s: what a purge changes there could not be put back: %s",
			       path, r == -EBADMSG ? "it is no cgroup v2" : strerror(-r));
	int fd = open(journal_path(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? err_path(err, -errno, journal_path()) : fd;
}

int purge_journal_add(int journal, const char *value, const char *path)
{
	char line[JOURNAL_LINE];
	int n = snprintf(line, sizeof(line), "%s %s\n", value, path);

	if (n >= (int)sizeof(line) || restorable(path) < 0 ||
	    write(journal, line, (size_t)n) != n || fdatasync(journal) < 0)
		return -EIO;
	return 0;
}

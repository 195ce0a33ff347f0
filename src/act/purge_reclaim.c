/* The method `reclaim`: the kernel reclaims below one named cgroup. On v2 the live children are
 * protected by memory.min meanwhile; what they had is written down first and put back afterwards,
 * also after a crash. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "buf.h"
#include "purge_impl.h"
#include "text.h"

enum { RECLAIM_TRIES = 20, RECLAIM_JOURNAL_CAP = 16 << 20, RECLAIM_DEPTH = 30 };

static const char *journal_path(void)
{
	const char *path = getenv("ZSCOPE_PURGE_JOURNAL");
	return path && *path == '/' ? path : "/run/zscope-purge.journal";
}

static int write_text(const char *path, const char *text)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

int purge_read_text(const char *path, char *ret, size_t size)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);

	if (n < 0)
		return -errno;
	ret[n] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	return 0;
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
	char copy[1200];
	char *blank;

	if (!text_copy_n(copy, sizeof(copy), line, len) || !(blank = strchr(copy, ' ')))
		return -EBADMSG;
	*blank = '\0';
	const char *path = blank + 1;
	if (!text_starts(path, "/sys/fs/cgroup/") || strstr(path, "/../"))
		return -EBADMSG;
	if (strcmp(copy, "rmdir") == 0)
		return restore_rmdir(path);
	if (!text_ends(path, "/memory.min"))
		return -EBADMSG;
	int r = write_text(path, copy);
	return r == -ENOENT || r == -ENODEV ? 0 : r;
}

int purge_restore(unsigned *ret, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_ROOT struct root root = { .fd = -1 };
	unsigned n = 0;

	*ret = 0;
	int r = root_open(NULL, &root, err);
	if (r < 0)
		return r;
	r = root_read(&root, journal_path() + 1, RECLAIM_JOURNAL_CAP, &text, err);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	for (const char *p = buf_str(&text); p && *p; p = text_next_line(p)) {
		r = restore_line(p, text_line_len(p));
		if (r < 0 && r != -EBADMSG)
			return err_set(err, r, "putting back what %s names: %s", journal_path(),
				       strerror(-r));
		n += r == 0;
	}
	if (unlink(journal_path()) < 0)
		return err_path(err, -errno, journal_path());
	*ret = n;
	return 0;
}

/* Remember the child's memory.min, then raise it to what it uses now. */
static int protect_child(int journal, const char *dir)
{
	char min[64], current[64], path[1100], line[1200];

	snprintf(path, sizeof(path), "%s/memory.current", dir);
	if (purge_read_text(path, current, sizeof(current)) < 0)
		return 0; /* no memory controller there */
	snprintf(path, sizeof(path), "%s/memory.min", dir);
	if (strchr(path, '\n') || purge_read_text(path, min, sizeof(min)) < 0)
		return -EIO;
	int n = snprintf(line, sizeof(line), "%s %s\n", min, path);
	if (n >= (int)sizeof(line) || write(journal, line, (size_t)n) != n ||
	    fdatasync(journal) < 0)
		return -EIO;
	return write_text(path, current);
}

/* The kernel gives protection level by level: a cgroup inside a child needs its own, too. */
static int protect_below(int journal, const char *dir, unsigned depth, struct err *err)
{
	AUTO_CLOSEDIR DIR *children = opendir(dir);
	struct dirent *e;
	char path[1000];
	int r = 0;

	if (!children)
		return errno == ENOENT ? 0 : err_path(err, -errno, dir);
	while (r == 0 && (e = readdir(children))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >= (int)sizeof(path) ||
		    protect_child(journal, path) < 0)
			r = err_set(err, -EIO, "%s: cannot protect it", path);
		else if (depth < RECLAIM_DEPTH)
			r = protect_below(journal, path, depth + 1, err);
	}
	return r;
}

static int journal_new(struct err *err)
{
	int fd = open(journal_path(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	return fd < 0 ? err_path(err, -errno, journal_path()) : fd;
}

int purge_journal_rmdir(const char *path, struct err *err)
{
	char line[1200];
	int n = snprintf(line, sizeof(line), "rmdir %s\n", path);

	if (n >= (int)sizeof(line) || strchr(path, '\n'))
		return err_path(err, -ENAMETOOLONG, path);
	AUTO_CLOSE int journal = journal_new(err);
	if (journal < 0)
		return journal;
	return write(journal, line, (size_t)n) == n ? 0 : err_path(err, -EIO, journal_path());
}

static int protect_children(const char *dir, struct err *err)
{
	AUTO_CLOSE int journal = journal_new(err);

	return journal < 0 ? journal : protect_below(journal, dir, 0, err);
}

static int reclaim_v2(const char *path, const char *dir, uint64_t bytes,
		      const struct purge_options *options, struct err *err)
{
	char amount[32];
	unsigned restored;

	int r = protect_children(dir, err);
	snprintf(amount, sizeof(amount), "%" PRIu64, bytes / RECLAIM_TRIES + 1);
	for (unsigned i = 0; r == 0 && i < RECLAIM_TRIES; i++) {
		int w = write_text(path, amount);
		if (w == -EAGAIN)
			break; /* nothing more to get */
		if (w < 0)
			r = err_path(err, w, path);
		if (options->progress)
			options->progress(options->arg, "reclaiming",
					  (double)(i + 1) / RECLAIM_TRIES);
	}
	struct err restore = { 0 };
	int back = purge_restore(&restored, &restore);
	if (back < 0 && r == 0)
		r = err_set(err, back, "%s", restore.text);
	return r;
}

/* memory.force_empty and drop_caches alike: the second pass gets what was referenced during the
 * first */
static int write_twice(const char *path, const char *text, const struct purge_options *options,
		       struct err *err)
{
	for (unsigned pass = 0; pass < 2; pass++) {
		int r = write_text(path, text);
		if (r < 0 && r != -EBUSY)
			return err_path(err, r, path);
		if (options->progress)
			options->progress(options->arg, "reclaiming", (pass + 1) / 2.0);
	}
	return 0;
}

/* Until 5.10, where systemd or a runtime did not switch it on, a cgroup does not reach those below.
 */
static int need_hierarchy(const char *dir, struct err *err)
{
	char path[1000], hierarchy[16];

	snprintf(path, sizeof(path), "%s/memory.use_hierarchy", dir);
	if (purge_read_text(path, hierarchy, sizeof(hierarchy)) == 0 && strcmp(hierarchy, "0") == 0)
		return err_set(err, -EOPNOTSUPP,
			       "%s is 0: memory.force_empty does not reach the cgroups below; use "
			       "--method files",
			       path);
	return 0;
}

int purge_reclaim_writes(const struct offer *offer, const struct purge_options *options, char *ret,
			 size_t size, struct err *err)
{
	const struct offer_mount *mount = offer_memory_mount(offer);
	const char *below = options->below ? options->below : "/";
	bool v2 = offer->memory == CGROUP_MEMORY_V2;
	char dir[900];
	struct stat st;

	below += strspn(below, "/");
	if (!*below && !options->whole_host)
		return err_set(
			err, -EPERM,
			"reclaim works below a named cgroup: give --below PATH (or --whole-host)");
	if (*below && options->whole_host)
		return err_set(err, -EINVAL, "--whole-host and --below exclude each other");
	if (strstr(below, ".."))
		return err_set(err, -EINVAL, "--below takes a plain cgroup path");
	if (!mount)
		return err_set(err, -ENOENT, "no memory cgroup hierarchy is mounted here");
	if (snprintf(dir, sizeof(dir), "/%s%s%s", mount->dir, *below ? "/" : "", below) >=
	    (int)sizeof(dir))
		return err_path(err, -ENAMETOOLONG, below);
	if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_path(err, -ENOENT, dir);
	snprintf(ret, size, "%s/%s", dir, v2 ? "memory.reclaim" : "memory.force_empty");
	if (*below)
		return v2 ? 0 : need_hierarchy(dir, err);
	/* v1's root has the file, but the kernel refuses to write to it; v2's came with 5.19 */
	if (!v2 || access(ret, W_OK) < 0)
		snprintf(ret, size, "%s", PURGE_DROP_CACHES);
	return 0;
}

int purge_reclaim(const struct offer *offer, const char *writes,
		  const struct purge_options *options, const struct purge_plan *plan,
		  struct err *err)
{
	char dir[1000];

	if (strcmp(writes, PURGE_DROP_CACHES) == 0) /* page cache, or inodes and dentries as well */
		return write_twice(writes, plan->inodes ? "3" : "1", options, err);
	if (offer->memory != CGROUP_MEMORY_V2)
		return write_twice(writes, "0", options, err);
	text_copy_n(dir, sizeof(dir), writes, (size_t)(strrchr(writes, '/') - writes));
	return reclaim_v2(writes, dir, plan->bytes, options, err);
}

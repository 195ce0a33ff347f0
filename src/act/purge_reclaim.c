/* The method `reclaim`: the kernel reclaims below one named cgroup. On v2 the live children are
 * protected by memory.min meanwhile; what they had is written down first (purge_journal.c) and put
 * back afterwards, also after a crash. */
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
#include "purge_impl.h"
#include "text.h"

enum { RECLAIM_TRIES = 20, RECLAIM_DEPTH = 30 };

int purge_write_text(const char *path, const char *text)
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

/* Remember the child's memory.min, then raise it to what it uses now. */
static int protect_child(int journal, const char *dir)
{
	char min[64], current[64], path[1100];

	snprintf(path, sizeof(path), "%s/memory.current", dir);
	if (purge_read_text(path, current, sizeof(current)) < 0)
		return 0; /* no memory controller there */
	snprintf(path, sizeof(path), "%s/memory.min", dir);
	if (purge_read_text(path, min, sizeof(min)) < 0 ||
	    purge_journal_add(journal, min, path) < 0)
		return -EIO;
	return purge_write_text(path, current);
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
		if (r == 0)
			r = purge_stopped(err);
	}
	return r;
}

static int protect_children(const char *dir, const char *writes, struct err *err)
{
	AUTO_CLOSE int journal = purge_journal_new(writes, err);

	return journal < 0 ? journal : protect_below(journal, dir, 0, err);
}

static int reclaim_in_steps(const char *path, uint64_t bytes, const struct purge_options *options,
			    struct err *err)
{
	char amount[32];
	int r = 0;

	snprintf(amount, sizeof(amount), "%" PRIu64, bytes / RECLAIM_TRIES + 1);
	for (unsigned i = 0; r == 0 && i < RECLAIM_TRIES; i++) {
		int w = purge_write_text(path, amount);
		r = purge_stopped(err);
		if (r < 0 || w == -EAGAIN)
			break; /* nothing more to get */
		if (w < 0)
			r = err_path(err, w, path);
		if (options->progress && i + 1 < RECLAIM_TRIES)
			options->progress(options->arg, "reclaiming",
					  (double)(i + 1) / RECLAIM_TRIES);
	}
	if (options->progress) /* ends its line, however it ended */
		options->progress(options->arg, "reclaiming", 1);
	return r;
}

static int reclaim_v2(const char *path, const char *dir, uint64_t bytes,
		      const struct purge_options *options, struct err *err)
{
	unsigned restored;

	int r = protect_children(dir, path, err);
	if (r == 0)
		r = reclaim_in_steps(path, bytes, options, err);
	struct err restore = { 0 };
	int back = purge_journal_undo(&restored, &restore);
	if (back < 0 && (r == 0 || r == -EINTR))
		r = err_set(err, back, "%s", restore.text);
	return r;
}

/* memory.force_empty and drop_caches alike: the second pass gets what was referenced during the
 * first */
static int write_twice(const char *path, const char *text, const struct purge_options *options,
		       struct err *err)
{
	for (unsigned pass = 0; pass < 2; pass++) {
		int r = purge_write_text(path, text);
		if (purge_stopped(err) < 0)
			return -EINTR;
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
	uint64_t bytes = plan->freeable_bytes + plan->may_stay_bytes;
	char dir[1000];

	/* what only writeback holds has no page that reclaim could take */
	if (!bytes && !plan->inodes)
		return 0;
	if (strcmp(writes, PURGE_DROP_CACHES) == 0) /* page cache, or inodes and dentries as well */
		return write_twice(writes, plan->inodes ? "3" : "1", options, err);
	if (offer->memory != CGROUP_MEMORY_V2)
		return write_twice(writes, "0", options, err);
	text_copy_n(dir, sizeof(dir), writes, (size_t)(strrchr(writes, '/') - writes));
	return reclaim_v2(writes, dir, bytes, options, err);
}

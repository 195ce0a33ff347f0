#include "undo.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "buf.h"
#include "text.h"
#include "timefmt.h"

#define JOURNAL_SUFFIX ".journal"
#define UNDONE_SUFFIX  ".undone"
#define SAVED_SUFFIX   ".zscope-saved"

static int undo_make_state_dir(const char *dir, struct err *err)
{
	AUTO_BUF struct buf path = { 0 };

	for (const char *p = dir; *p;) {
		size_t n = strcspn(p + 1, "/") + 1;
		buf_add(&path, p, n);
		p += n;
		if (mkdir(buf_str(&path), 0700) < 0 && errno != EEXIST)
			return err_path(err, -errno, dir);
	}
	return 0;
}

int undo_open(const char *state_dir, struct undo *ret, struct err *err)
{
	int r = undo_make_state_dir(state_dir, err);
	if (r < 0)
		return r;
	AUTO_CLOSE int dir = open(state_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	if (dir < 0 || fstat(dir, &st) < 0)
		return err_path(err, -errno, state_dir);
	if (st.st_uid != geteuid() || st.st_mode & 022)
		return err_set(err, -EPERM, "%s: belongs to or is writable by somebody else",
			       state_dir);
	AUTO_CLOSE int lock = openat(dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (lock < 0)
		return err_path(err, -errno, state_dir);
	if (flock(lock, LOCK_EX | LOCK_NB) < 0)
		return err_set(err, -errno,
			       "another fix, purge or undo is under way (%s/lock is held)",
			       state_dir);
	*ret = (struct undo){ .dir_fd = TAKE_FD(dir), .lock_fd = TAKE_FD(lock), .file_fd = -1 };
	return 0;
}

void undo_close(struct undo *u)
{
	if (u->file_fd > 0)
		close(u->file_fd);
	if (u->lock_fd > 0)
		close(u->lock_fd);
	if (u->dir_fd > 0)
		close(u->dir_fd);
	*u = (struct undo){ .file_fd = -1, .lock_fd = -1, .dir_fd = -1 };
}

int undo_begin(struct undo *u, struct err *err)
{
	uint64_t now = clock_real_ns();

	snprintf(u->name, sizeof(u->name), "%020llu" JOURNAL_SUFFIX, (unsigned long long)now);
	u->file_fd = openat(u->dir_fd, u->name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC,
			    0600);
	if (u->file_fd < 0)
		return err_path(err, -errno, u->name);
	if (fsync(u->dir_fd) < 0)
		return err_path(err, -errno, u->name);
	return 0;
}

int undo_note(struct undo *u, struct err *err, const char *verb, const char *first,
	      const char *second)
{
	AUTO_BUF struct buf line = { 0 };

	if (strpbrk(first, "\t\n") || (second && strpbrk(second, "\t\n")))
		return err_set(err, -EINVAL, "'%s' cannot be noted in the undo journal", first);
	buf_addf(&line, "%s\t%s%s%s\n", verb, first, second ? "\t" : "", second ? second : "");
	if (line.failed)
		return err_set(err, -ENOMEM, "out of memory");
	ssize_t n = write(u->file_fd, line.data, line.len);
	if (n != (ssize_t)line.len || fdatasync(u->file_fd) < 0)
		return err_set(err, n < 0 ? -errno : -EIO,
			       "the undo journal cannot be written: nothing was changed");
	return 0;
}

int undo_end(struct undo *u, struct err *err)
{
	int r = undo_note(u, err, "end", u->name, NULL);
	close(u->file_fd);
	u->file_fd = -1;
	return r;
}

/* The directory that holds path, opened below the root, and the last component. */
static int undo_parent(const struct root *root, const char *path, const char **ret_name,
		       struct err *err)
{
	char parent[512];
	const char *slash = strrchr(path, '/');

	if (!slash) {
		*ret_name = path;
		return root_open_dir(root, ".", 0, err);
	}
	if (!text_copy_n(parent, sizeof(parent), path, (size_t)(slash - path)))
		return err_path(err, -ENAMETOOLONG, path);
	*ret_name = slash + 1;
	return root_open_dir(root, parent, 0, err);
}

int undo_make_dir(struct undo *u, const struct root *root, const char *path, struct err *err)
{
	const char *name;

	if (root_exists(root, path))
		return 0;
	AUTO_CLOSE int dir = undo_parent(root, path, &name, err);
	if (dir < 0)
		return dir;
	int r = undo_note(u, err, "made-dir", path, NULL);
	if (r < 0)
		return r;
	return mkdirat(dir, name, 0755) < 0 && errno != EEXIST ? err_path(err, -errno, path) : 0;
}

int undo_make_link(struct undo *u, const struct root *root, const char *path, const char *target,
		   struct err *err)
{
	const char *name;
	AUTO_CLOSE int dir = undo_parent(root, path, &name, err);

	if (dir < 0)
		return dir;
	int r = undo_note(u, err, "made-link", path, target);
	if (r < 0)
		return r;
	if (symlinkat(target, dir, name) < 0)
		return err_path(err, -errno, path);
	fsync(dir);
	return 0;
}

int undo_make_file(struct undo *u, const struct root *root, const char *path, const char *text,
		   struct err *err)
{
	const char *name;
	AUTO_CLOSE int dir = undo_parent(root, path, &name, err);

	if (dir < 0)
		return dir;
	int r = undo_note(u, err, "made-file", path, NULL);
	if (r < 0)
		return r;
	AUTO_CLOSE int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_path(err, -errno, path);
	size_t len = strlen(text);
	if (write(fd, text, len) != (ssize_t)len || fsync(fd) < 0)
		return err_path(err, -EIO, path);
	fsync(dir);
	return 0;
}

int undo_move_away(struct undo *u, const struct root *root, const char *path, struct err *err)
{
	const char *name;
	char saved[300];
	AUTO_CLOSE int dir = undo_parent(root, path, &name, err);

	if (dir < 0)
		return dir;
	/* a name that systemd takes for no unit */
	snprintf(saved, sizeof(saved), ".%s" SAVED_SUFFIX, name);
	int r = undo_note(u, err, "moved", path, saved);
	if (r < 0)
		return r;
	if (renameat(dir, name, dir, saved) < 0)
		return err_path(err, -errno, path);
	fsync(dir);
	return 0;
}

static bool link_is(int dir, const char *name, const char *target)
{
	char now[512];
	ssize_t n = readlinkat(dir, name, now, sizeof(now) - 1);

	if (n < 0)
		return false;
	now[n] = '\0';
	return strcmp(now, target) == 0;
}

/* 1 = reversed, 0 = nothing to do (the step never happened, or somebody changed it since). */
static int undo_line(const struct root *root, const char *verb, const char *first,
		     const char *second, int (*restart)(void *, const char *, struct err *),
		     void *arg, struct err *err)
{
	if (strcmp(verb, "stop") == 0)
		return restart ? (restart(arg, first, err) < 0 ? -EIO : 1) : 0;
	const char *name;
	AUTO_CLOSE int dir = undo_parent(root, first, &name, NULL);
	if (dir < 0)
		return 0;
	int r = -1;
	if (strcmp(verb, "made-link") == 0)
		r = link_is(dir, name, second) ? unlinkat(dir, name, 0) : -1;
	else if (strcmp(verb, "made-file") == 0)
		r = unlinkat(dir, name, 0);
	else if (strcmp(verb, "made-dir") == 0)
		r = unlinkat(dir, name, AT_REMOVEDIR);
	else if (strcmp(verb, "moved") == 0)
		r = faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0
			    ? renameat(dir, second, dir, name)
			    : -1;
	else
		return 0;
	fsync(dir);
	return r == 0;
}

struct undo_entry {
	char *verb, *first, *second;
};

static size_t undo_split(char *text, struct undo_entry *entries, size_t most)
{
	size_t n = 0;
	char *save_line;

	for (char *line = strtok_r(text, "\n", &save_line); line && n < most;
	     line = strtok_r(NULL, "\n", &save_line)) {
		char *save;
		entries[n].verb = strtok_r(line, "\t", &save);
		entries[n].first = strtok_r(NULL, "\t", &save);
		entries[n].second = strtok_r(NULL, "\t", &save);
		if (entries[n].verb && entries[n].first)
			n++;
	}
	return n;
}

static int undo_read(const struct undo *u, const char *name, struct buf *out, struct err *err)
{
	char chunk[4096];
	AUTO_CLOSE int fd = openat(u->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return err_path(err, -errno, name);
	for (ssize_t n; (n = read(fd, chunk, sizeof(chunk))) > 0;)
		buf_add(out, chunk, (size_t)n);
	return out->failed ? err_set(err, -ENOMEM, "out of memory") : 0;
}

int undo_reverse(struct undo *u, const struct root *root, const char *name,
		 int (*restart)(void *arg, const char *unit, struct err *err), void *arg,
		 struct undo_report *ret, struct err *err)
{
	enum { MOST_LINES = 4096 };
	AUTO_BUF struct buf text = { 0 };
	AUTO_FREE struct undo_entry *entries = calloc(MOST_LINES, sizeof(*entries));
	struct undo_report report = { 0 };
	int r = undo_read(u, name, &text, err);

	if (r < 0 || !entries || !text.data)
		return r < 0 ? r : err_set(err, -ENOMEM, "out of memory");
	for (size_t n = undo_split(text.data, entries, MOST_LINES); n--;) {
		r = undo_line(root, entries[n].verb, entries[n].first,
			      entries[n].second ? entries[n].second : "", restart, arg, err);
		if (r < 0)
			return r;
		report.reversed += r == 1;
		report.skipped += r == 0 && strcmp(entries[n].verb, "end") != 0;
	}
	char done[80];
	snprintf(done, sizeof(done), "%.*s" UNDONE_SUFFIX,
		 (int)(strlen(name) - strlen(JOURNAL_SUFFIX)), name);
	if (renameat(u->dir_fd, name, u->dir_fd, done) < 0)
		return err_path(err, -errno, name);
	fsync(u->dir_fd);
	*ret = report;
	return 0;
}

int undo_newest(const struct undo *u, char ret_name[64], struct err *err)
{
	int fd = openat(u->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char best[64] = "";

	if (!dir)
		return err_path(err, -errno, "state directory");
	for (struct dirent *e; (e = readdir(dir));)
		if (text_ends(e->d_name, JOURNAL_SUFFIX) && strlen(e->d_name) < sizeof(best) &&
		    strcmp(e->d_name, best) > 0)
			text_copy(best, sizeof(best), e->d_name);
	if (!*best)
		return err_set(err, -ENODATA, "nothing to undo: no fix was applied");
	text_copy(ret_name, 64, best);
	return 0;
}

#include "root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "root_resolve.h"
#include "text.h"
#include "tick_path.h"
#include "vec.h"

/* "//", "/." and "/proc/self/root" are this host too: reading it as a captured one would compare
 * nothing and know less. */
static bool root_is_live(int fd)
{
	struct stat given, live;

	return fstat(fd, &given) == 0 && stat("/", &live) == 0 && given.st_dev == live.st_dev &&
	       given.st_ino == live.st_ino;
}

int root_open(const char *dir, struct root *ret, struct err *err)
{
	const char *path = dir ? dir : "/";
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_path(err, -errno, path);
	*ret = (struct root){ .fd = fd, .live = root_is_live(fd) };
	text_copy(ret->path, sizeof(ret->path), path);
	return 0;
}

void root_close(struct root *root)
{
	if (root->fd >= 0)
		close(root->fd);
	root->fd = -1;
}

RARELY static int root_fail(const struct root *root, const char *path, int code, const char *what,
			    struct err *err)
{
	return err_set(err, code, "%s%s%s: %s", root->live ? "" : root->path,
		       *path == '/' ? "" : "/", path, what ? what : strerror(-code));
}

int root_err(const struct root *root, int code, struct err *err)
{
	size_t len = strlen(root->path);
	struct err told;

	if (!err || root->live || err->text[0] != '/' ||
	    (strncmp(err->text, root->path, len) == 0 && err->text[len] == '/'))
		return code;
	told = *err;
	return err_set(err, code, "%s%s", root->path, told.text);
}

static int root_open_any(const struct root *root, const char *path, int open_flags, unsigned flags,
			 struct err *err)
{
	bool magic = flags & ROOT_MAGIC && root->live;
	int fd =
		root_resolve(root->fd, path, open_flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, magic);

	return fd < 0 ? root_fail(root, path, fd, NULL, err) : fd;
}

int root_open_file(const struct root *root, const char *path, unsigned flags, struct err *err)
{
	AUTO_CLOSE int fd = root_open_any(root, path, O_RDONLY, flags, err);
	struct stat st;

	if (fd < 0)
		return TAKE_FD(fd);
	if (fstat(fd, &st) < 0)
		return root_fail(root, path, -errno, NULL, err);
	if (S_ISDIR(st.st_mode))
		return root_fail(root, path, -EISDIR, NULL, err);
	if (!S_ISREG(st.st_mode))
		return root_fail(root, path, -ENXIO, "not a regular file", err);
	return TAKE_FD(fd);
}

int root_open_dir(const struct root *root, const char *path, unsigned flags, struct err *err)
{
	return root_open_any(root, path, O_RDONLY | O_DIRECTORY, flags, err);
}

RARELY static int root_too_large(const struct root *root, const char *path, size_t cap,
				 struct err *err)
{
	char what[60];

	snprintf(what, sizeof(what), "larger than %zu bytes", cap);
	return root_fail(root, path, -EFBIG, what, err);
}

EVERY_TICK static int root_read_fd(int fd, const struct root *root, const char *path, size_t cap,
				   bool whole, struct buf *out, struct err *err)
{
	size_t start = out->len;

	for (;;) {
		if (!buf_reserve(out, out->len - start < 4096 ? 4096 : out->len - start))
			return root_fail(root, path, -ENOMEM, NULL, err);
		size_t room = out->cap - out->len - 1;
		ssize_t n = pread(fd, out->data + out->len, room, (off_t)(out->len - start));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return root_fail(root, path, -errno, NULL, err);
		if (n == 0)
			break;
		out->len += (size_t)n;
		if (out->len - start > cap)
			return root_too_large(root, path, cap, err);
		if (whole && (size_t)n < room)
			break;
	}
	out->data[out->len] = '\0';
	return 0;
}

int root_read(const struct root *root, const char *path, size_t cap, struct buf *out,
	      struct err *err)
{
	AUTO_CLOSE int fd = root_open_file(root, path, 0, err);

	return fd < 0 ? fd : root_read_fd(fd, root, path, cap, false, out, err);
}

int root_readlink(const struct root *root, const char *path, struct buf *out, struct err *err)
{
	AUTO_CLOSE int fd = root_resolve(root->fd, path, O_PATH | O_NOFOLLOW | O_CLOEXEC, false);
	char target[4096];

	if (fd < 0)
		return root_fail(root, path, fd, NULL, err);
	ssize_t n = readlinkat(fd, "", target, sizeof(target));
	if (n < 0)
		/* readlinkat on an O_PATH descriptor says ENOENT for "not a link" */
		return root_fail(root, path, errno == ENOENT ? -EINVAL : -errno, NULL, err);
	buf_add(out, target, (size_t)n);
	return 0;
}

int root_lstat(const struct root *root, const char *path, struct stat *ret, struct err *err)
{
	AUTO_CLOSE int fd = root_resolve(root->fd, path, O_PATH | O_NOFOLLOW | O_CLOEXEC, false);
	struct stat st;

	if (fd < 0)
		return root_fail(root, path, fd, NULL, err);
	if (fstat(fd, &st) < 0)
		return root_fail(root, path, -errno, NULL, err);
	*ret = st;
	return 0;
}

bool root_exists(const struct root *root, const char *path)
{
	AUTO_CLOSE int fd = root_resolve(root->fd, path, O_PATH | O_CLOEXEC, false);
	return fd >= 0;
}

struct root_entry {
	char *name;
	unsigned char type;
};

static int root_entry_compare(const void *a, const void *b)
{
	return strcmp(((const struct root_entry *)a)->name, ((const struct root_entry *)b)->name);
}

int root_list(const struct root *root, const char *path,
	      int (*each)(void *arg, const char *name, unsigned char d_type), void *arg,
	      struct err *err)
{
	AUTO_CLOSE int fd = root_open_dir(root, path, 0, err);
	if (fd < 0)
		return fd;
	AUTO_CLOSEDIR DIR *dir = fdopendir(fd);
	if (!dir)
		return root_fail(root, path, -errno, NULL, err);
	TAKE_FD(fd);

	VEC(struct root_entry) entries = { 0 };
	int r = 0;
	struct dirent *e;
	while ((e = readdir(dir))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		char *name = strdup(e->d_name);
		if (!name || !vec_push(&entries, (struct root_entry){ name, e->d_type })) {
			free(name);
			r = root_fail(root, path, -ENOMEM, NULL, err);
			break;
		}
	}
	vec_sort(&entries, root_entry_compare);
	vec_foreach (&entries, it)
		if (r == 0)
			r = each(arg, it->name, it->type);
	vec_foreach (&entries, it)
		free(it->name);
	vec_free(&entries);
	return r;
}

int reread_open(struct reread *r, const struct root *root, const char *path, struct err *err)
{
	int fd = root_open_file(root, path, 0, err);

	*r = (struct reread){ .fd = fd < 0 ? -1 : fd, .root = root, .path = path };
	return fd < 0 ? fd : 0;
}

EVERY_TICK int reread_text(struct reread *r, struct buf *out, struct err *err)
{
	if (r->fd < 0) /* may never have been opened: then it has no name either */
		return r->root ? root_fail(r->root, r->path, -EBADF, NULL, err) : -EBADF;
	buf_clear(out);
	return root_read_fd(r->fd, r->root, r->path, ROOT_FILE_CAP, r->whole, out, err);
}

void reread_close(struct reread *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

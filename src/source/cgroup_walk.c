#include "cgroup_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "auto.h"

enum { CGROUP_WALK_ENTRIES = 32768 };

struct cgroup_walk {
	cgroup_walk_fn each;
	void *arg;
	uint64_t count;
	struct buf path;
};

struct cgroup_dirent {
	uint64_t ino;
	int64_t off;
	unsigned short reclen;
	unsigned char type;
	char name[];
};

static int cgroup_walk_dir(struct cgroup_walk *w, int fd, unsigned depth, uint64_t left);

static int cgroup_walk_one(struct cgroup_walk *w, int parent, const char *name, unsigned depth)
{
	size_t path_len = w->path.len;
	struct stat st;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* gone meanwhile */
	if (!S_ISDIR(st.st_mode))
		return 0;
	if (++w->count > CGROUP_WALK_MOST)
		return -E2BIG;
	if (w->each) {
		if (path_len)
			buf_add_char(&w->path, '/');
		buf_add_str(&w->path, name);
		int r = w->each(w->arg, parent, name, buf_str(&w->path));
		if (r)
			return r;
	}
	int r = 0;
	/* 2 = a leaf; below 2 the file system does not count (btrfs) */
	if (st.st_nlink != 2 && depth < CGROUP_WALK_MOST_DEPTH) {
		AUTO_CLOSE int fd =
			openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			r = cgroup_walk_dir(w, fd, depth + 1,
					    st.st_nlink > 2 ? st.st_nlink - 2 : UINT64_MAX);
		else if (errno == EMFILE || errno == ENFILE || errno == EACCES)
			r = -errno;
	}
	if (w->path.data) {
		w->path.len = path_len;
		w->path.data[path_len] = '\0';
	}
	return r;
}

/* left: how many sub-directories are still to come; what follows them need not be listed. */
static int cgroup_walk_dir(struct cgroup_walk *w, int fd, unsigned depth, uint64_t left)
{
	AUTO_FREE char *entries = malloc(CGROUP_WALK_ENTRIES);

	if (!entries)
		return -ENOMEM;
	while (left) {
		long n = syscall(SYS_getdents64, fd, entries, CGROUP_WALK_ENTRIES);
		if (n <= 0)
			return n < 0 && errno != ENOENT ? -errno : 0;
		for (long at = 0; at < n && left;) {
			const struct cgroup_dirent *e = (const void *)(entries + at);
			at += e->reclen;
			if ((e->type != DT_DIR && e->type != DT_UNKNOWN) ||
			    strcmp(e->name, ".") == 0 || strcmp(e->name, "..") == 0)
				continue;
			int r = cgroup_walk_one(w, fd, e->name, depth);
			if (r)
				return r;
			if (left != UINT64_MAX && e->type == DT_DIR)
				left--;
		}
	}
	return 0;
}

int cgroup_walk(const struct root *root, const char *dir, cgroup_walk_fn each, void *arg,
		uint64_t *ret, struct err *err)
{
	struct cgroup_walk w = { .each = each, .arg = arg };
	AUTO_CLOSE int fd = root_open_dir(root, dir, 0, err);

	if (fd < 0)
		return fd;
	/* the top itself is listed to its end: directories made meanwhile are found */
	int r = cgroup_walk_dir(&w, fd, 0, UINT64_MAX);
	buf_free(&w.path);
	if (r < 0)
		return err_set(err, r, "/%s: %s", dir,
			       r == -E2BIG ? "more cgroups than can be counted" : strerror(-r));
	*ret = w.count;
	return r;
}

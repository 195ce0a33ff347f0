#include "root_resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "auto.h"
#include "text.h"

enum { RESOLVE_MOST_LINKS = 40, RESOLVE_MOST_DEPTH = 128, PROC_MAGIC = 0x9fa0 };

int root_resolve(int root_fd, const char *path, int open_flags, bool magic)
{
	static atomic_bool no_openat2;

	if (!atomic_load(&no_openat2)) {
		struct open_how how = {
			.flags = (unsigned)open_flags,
			.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
		};
		if (magic)
			how.resolve =
				0; /* IN_ROOT refuses magic links; the live root is "/" anyway */
		if (magic && *path == '/')
			path++;
		/* EAGAIN: a rename raced with the resolution; the kernel asks for another try */
		for (int tries = 0; tries < 128; tries++) {
			long fd = syscall(SYS_openat2, root_fd, *path ? path : ".", &how,
					  sizeof(how));
			if (fd >= 0)
				return (int)fd;
			if (errno != EAGAIN)
				break;
		}
		if (errno != ENOSYS && errno != EPERM)
			return -errno;
		if (errno == ENOSYS)
			atomic_store(&no_openat2, true);
	}
	return root_resolve_walk(root_fd, path, open_flags, magic);
}

/* A stack of directory descriptors from the root down, so that ".." is never asked of the kernel.
 */
struct walk {
	int fds[RESOLVE_MOST_DEPTH];
	int depth;
	char rest[PATH_MAX]; /* what is still to be resolved */
	int links;
};

static void walk_pop(struct walk *w)
{
	if (w->depth > 0)
		close(w->fds[w->depth--]);
}

static void walk_close(struct walk *w)
{
	while (w->depth > 0)
		walk_pop(w);
}

static bool walk_is_magic(int link_fd)
{
	struct statfs fs;
	struct stat st;
	/* Links of procfs whose size is 0 are made up by the kernel; "self" has no size either but
	 * its text is relative. */
	return fstatfs(link_fd, &fs) == 0 && fs.f_type == PROC_MAGIC && fstat(link_fd, &st) == 0;
}

/* Put the link's target in front of what is left. */
static int walk_follow(struct walk *w, int link_fd, bool magic)
{
	char target[PATH_MAX], joined[PATH_MAX];
	ssize_t n = readlinkat(link_fd, "", target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	target[n] = '\0';
	if (++w->links > RESOLVE_MOST_LINKS)
		return -ELOOP;
	if (walk_is_magic(link_fd) && !magic && (target[0] == '/' || strchr(target, ':')))
		return -ELOOP;
	size_t rest_len = strlen(w->rest);
	if ((size_t)n + 1 + rest_len >= sizeof(joined))
		return -ENAMETOOLONG;
	memcpy(joined, target, (size_t)n);
	joined[n] = '/';
	memcpy(joined + n + 1, w->rest, rest_len + 1);
	memcpy(w->rest, joined, (size_t)n + 2 + rest_len);
	if (target[0] == '/')
		walk_close(w);
	return 0;
}

/* Take the next component off w->rest; false when none is left. */
static bool walk_component(struct walk *w, char name[NAME_MAX + 1], int *ret_error)
{
	const char *p = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(p, "/");

	*ret_error = n > NAME_MAX ? -ENAMETOOLONG : 0;
	if (!n || *ret_error)
		return false;
	memcpy(name, p, n);
	name[n] = '\0';
	memmove(w->rest, p + n, strlen(p + n) + 1);
	return true;
}

static bool walk_at_end(const struct walk *w)
{
	return w->rest[strspn(w->rest, "/")] == '\0';
}

/* 1 = *ret_fd is the answer, 0 = go on, negative = error. */
static int walk_step(struct walk *w, const char *name, int open_flags, bool magic, int *ret_fd)
{
	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0) {
		walk_pop(w);
		return 0;
	}
	AUTO_CLOSE int fd = openat(w->fds[w->depth], name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	bool last = walk_at_end(w);
	if (S_ISLNK(st.st_mode) && !(last && open_flags & O_NOFOLLOW))
		return walk_follow(w, fd, magic);
	if (!last || S_ISDIR(st.st_mode)) {
		if (w->depth + 1 >= RESOLVE_MOST_DEPTH)
			return -ENAMETOOLONG;
		w->fds[++w->depth] = TAKE_FD(fd);
		return 0;
	}
	int final = openat(w->fds[w->depth], name, open_flags | O_NOFOLLOW);
	if (final < 0)
		return -errno;
	*ret_fd = final;
	return 1;
}

int root_resolve_walk(int root_fd, const char *path, int open_flags, bool magic)
{
	struct walk w = { .fds = { root_fd } };
	char name[NAME_MAX + 1];
	int r = 0, fd = -1, error;

	if (!text_copy(w.rest, sizeof(w.rest), path))
		return -ENAMETOOLONG;
	while (r == 0 && walk_component(&w, name, &error))
		r = walk_step(&w, name, open_flags, magic, &fd);
	if (r == 0 && error)
		r = error;
	if (r == 0) { /* ended on a directory */
		fd = openat(w.fds[w.depth], ".", open_flags & ~O_NOFOLLOW);
		r = fd < 0 ? -errno : 1;
	}
	walk_close(&w);
	return r < 0 ? r : fd;
}

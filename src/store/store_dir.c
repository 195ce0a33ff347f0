#include "store_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "text.h"

#define LOCK_FILE  "lock"
#define PIN_SUFFIX ".pin"

/* A directory that has anything but a store's files in it is somebody's: /tmp given by mistake must
 * not become 0700. */
static bool store_dir_is_ours(int fd)
{
	AUTO_CLOSEDIR DIR *d = fdopendir(fcntl(fd, F_DUPFD_CLOEXEC, 3));
	struct segment_name name;
	struct dirent *e;

	if (!d)
		return false;
	rewinddir(d);
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.' || strcmp(e->d_name, LOCK_FILE) == 0 ||
		    text_ends(e->d_name, PIN_SUFFIX) || segment_name_parse(e->d_name, &name))
			continue;
		return false;
	}
	return true;
}

static int store_dir_check_owner(int fd, const char *dir, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_path(err, -errno, dir);
	if (st.st_uid != geteuid())
		return err_set(err, -EPERM,
			       "%s: belongs to user %u, not to the one recording (%u); give "
			       "another --store",
			       dir, st.st_uid, geteuid());
	if (!(st.st_mode & 0077))
		return 0;
	if (!store_dir_is_ours(fd))
		return err_set(err, -EPERM,
			       "%s: is open to others and holds more than a recording; give a "
			       "directory of its own with --store",
			       dir);
	return fchmod(fd, 0700) < 0 ? err_path(err, -errno, dir) : 0;
}

int store_dir_make(const char *dir, struct err *err)
{
	if (mkdir(dir, 0700) == 0 || errno == EEXIST)
		return 0;
	int code = -errno;
	if (code != -ENOENT && code != -ENOTDIR)
		return err_path(err, code, dir);
	return err_set(err, code,
		       "%s: %s: make the directory above it first, or give another --store", dir,
		       strerror(-code));
}

int store_dir_open_writer(const char *dir, struct err *err)
{
	/* every program that writes a recording comes by here, and one took --help for a directory
	 */
	if (dir[0] == '-')
		return err_set(err, -EINVAL, "'%s' looks like an option; as a directory: ./%s", dir,
			       dir);
	int made = store_dir_make(dir, err);
	if (made < 0)
		return made;
	AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return err_set(err, -ENOTDIR, "%s: must be a directory itself, no symbolic link",
			       dir);
	if (fd < 0)
		return err_path(err, -errno, dir);
	int r = store_dir_check_owner(fd, dir, err);
	return r < 0 ? r : TAKE_FD(fd);
}

int store_dir_open_reader(const char *dir, struct err *err)
{
	if (!*dir)
		return err_set(err, -ENOENT, "no recording there");
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	switch (errno) {
	case ENOENT:
		return err_set(err, -ENOENT,
			       "%s: no recording there; start one with 'zscope record --store %s'",
			       dir, dir);
	case EACCES:
		return err_set(err, -EACCES,
			       "%s: Permission denied: a recording is for its owner alone; be that "
			       "user, mostly root, or give another --store",
			       dir);
	case ENOTDIR:
		return err_set(err, -ENOTDIR,
			       "%s: Not a directory: --store takes the one that 'zscope record' or "
			       "'zscope import' wrote",
			       dir);
	default:
		return err_path(err, -errno, dir);
	}
}

/* flock keeps a second writer out; the record lock beside it can be asked about without taking it.
 */
int store_dir_lock(int dir_fd, const char *dir, struct err *err)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char pid[32] = "";
	AUTO_CLOSE int fd = openat(dir_fd, LOCK_FILE,
				   O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);

	if (fd < 0)
		return err_set(err, -errno, "%s/" LOCK_FILE ": %s", dir, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int code = -errno;
		if (code != -EWOULDBLOCK)
			return err_set(err, code, "%s/" LOCK_FILE ": %s", dir, strerror(-code));
		ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);
		pid[n > 0 ? strcspn(pid, "\n") : 0] = '\0';
		return err_set(err, -EWOULDBLOCK,
			       "%s: another recorder (pid %s) writes to it already", dir,
			       *pid ? pid : "unknown");
	}
	fcntl(fd, F_OFD_SETLK, &whole); /* only a courtesy for readers */
	int len = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)len, 0) < 0)
		err_set(err, 0, "%s", ""); /* a full disk: the pid is only for the message */
	return TAKE_FD(fd);
}

bool store_dir_is_locked(int dir_fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	AUTO_CLOSE int fd =
		openat(dir_fd, LOCK_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

static int segment_compare(const void *a, const void *b)
{
	const struct store_segment *x = a, *y = b;

	if (x->name.start_ns != y->name.start_ns)
		return x->name.start_ns < y->name.start_ns ? -1 : 1;
	return x->name.salt < y->name.salt ? -1 : x->name.salt > y->name.salt;
}

static void pin_path(char ret[SEGMENT_NAME_MAX + 8], const struct segment_name *name)
{
	char text[SEGMENT_NAME_MAX];

	segment_name_print(text, name);
	snprintf(ret, SEGMENT_NAME_MAX + 8, "%s" PIN_SUFFIX, text);
}

bool store_dir_is_pinned(int dir_fd, const struct segment_name *name)
{
	char path[SEGMENT_NAME_MAX + 8];

	pin_path(path, name);
	return faccessat(dir_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void store_dir_stat(int dir_fd, struct store_segment *segment)
{
	char path[SEGMENT_NAME_MAX + 8];
	struct stat st;

	segment_name_print(path, &segment->name);
	if (fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		segment->bytes = (uint64_t)st.st_size;
	segment->pinned = store_dir_is_pinned(dir_fd, &segment->name);
}

int store_dir_list(int dir_fd, const char *dir, bool with_sizes, struct store_segments *ret,
		   struct err *err)
{
	AUTO_CLOSEDIR DIR *d = fdopendir(openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *e;

	if (!d)
		return err_path(err, -errno, dir);
	ret->list.len = 0;
	while ((e = readdir(d))) {
		struct store_segment segment = { 0 };
		if (!segment_name_parse(e->d_name, &segment.name))
			continue;
		if (with_sizes)
			store_dir_stat(dir_fd, &segment);
		if (!vec_push(&ret->list, segment))
			return err_set(err, -ENOMEM, "out of memory");
	}
	vec_sort(&ret->list, segment_compare);
	return 0;
}

int store_dir_pin(int dir_fd, const struct segment_name *name, bool pinned)
{
	char path[SEGMENT_NAME_MAX + 8];

	pin_path(path, name);
	if (!pinned)
		return unlinkat(dir_fd, path, 0) < 0 && errno != ENOENT ? -errno : 0;
	AUTO_CLOSE int fd = openat(dir_fd, path,
				   O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	return fd < 0 ? -errno : 0;
}

size_t store_segments_after(const struct store_segments *segments, uint64_t time_ns)
{
	size_t low = 0, high = segments->list.len;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (segments->list.items[mid].name.start_ns > time_ns)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

#include "note_spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "store_dir.h"

enum { NOTE_MAX_BYTES = 65536, NOTE_MOST = 10000 };

static int note_open_dir(const char *dir, bool make, struct err *err)
{
	char path[4200];

	if (snprintf(path, sizeof(path), "%s/notes", dir) >= (int)sizeof(path))
		return err_path(err, -ENAMETOOLONG, dir);
	int made = make ? store_dir_make(dir, err) : 0;
	if (made < 0)
		return made;
	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_path(err, -errno, path);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_path(err, -errno, path) : fd;
}

int note_spool_put(const char *dir, const struct rec_event *event, struct err *err)
{
	AUTO_BUF struct buf bytes = { 0 };
	char name[64], temporary[70];

	AUTO_CLOSE int dir_fd = note_open_dir(dir, true, err);
	if (dir_fd < 0)
		return dir_fd;
	rec_event_encode(&bytes, event);
	if (bytes.failed || bytes.len > NOTE_MAX_BYTES)
		return err_set(err, -E2BIG, "the note is too long");
	snprintf(name, sizeof(name), "%020" PRIu64 "-%d", event->time_ns, getpid());
	snprintf(temporary, sizeof(temporary), ".%s", name);
	AUTO_CLOSE int fd =
		openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_path(err, -errno, dir);
	if (write(fd, bytes.data, bytes.len) != (ssize_t)bytes.len || fsync(fd) < 0 ||
	    renameat(dir_fd, temporary, dir_fd, name) < 0) {
		int r = err_path(err, errno ? -errno : -EIO, dir);
		unlinkat(dir_fd, temporary, 0);
		return r;
	}
	return 0;
}

static int note_read(int dir_fd, const char *name, struct arena *arena, struct rec_event *ret)
{
	AUTO_CLOSE int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	AUTO_FREE char *bytes = malloc(NOTE_MAX_BYTES + 1);

	if (fd < 0 || !bytes)
		return -EIO;
	ssize_t n = read(fd, bytes, NOTE_MAX_BYTES + 1);
	if (n < 0 || n > NOTE_MAX_BYTES)
		return -EIO;
	return rec_event_decode(bytes, (size_t)n, arena, ret);
}

static int note_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int note_spool_each(const char *dir, bool take,
		    int (*each)(void *arg, const struct rec_event *event), void *arg,
		    struct err *err)
{
	struct dirent **names = NULL;

	AUTO_CLOSE int dir_fd = note_open_dir(dir, false, err);
	if (dir_fd == -ENOENT)
		return 0;
	if (dir_fd < 0)
		return dir_fd;
	int n = scandirat(dir_fd, ".", &names, note_visible, alphasort);
	if (n < 0)
		return err_path(err, -errno, dir);
	int r = 0;
	for (int i = 0; i < n; i++) {
		struct arena arena = { 0 };
		struct rec_event event;
		if (r == 0 && i < NOTE_MOST &&
		    note_read(dir_fd, names[i]->d_name, &arena, &event) == 0) {
			r = each(arg, &event);
			if (r == 0 && take)
				unlinkat(dir_fd, names[i]->d_name, 0);
		}
		arena_free(&arena);
		free(names[i]);
	}
	free(names);
	return r;
}

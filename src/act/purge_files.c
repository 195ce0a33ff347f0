/* The method `files`: only pages that are charged to zombies leave the page cache. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "auto.h"
#include "map.h"
#include "mounts.h"
#include "purge_impl.h"
#include "text.h"

enum { PURGE_PROGRESS_EVERY = 512 };

/* By file, then by place, so that each file is opened once and neighbours become one call. */
static int by_place(const void *a, const void *b)
{
	const struct zombie_range *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

int purge_open_device(const struct root *root, const struct zombie_file *f)
{
	AUTO_BUF struct buf text = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "sys/dev/block/%u:%u/uevent", f->major, f->minor);
	int r = root_read(root, path, 4096, &text, NULL);
	if (r < 0)
		return r;
	const char *name = strstr(buf_str(&text), "DEVNAME=");
	if (!name)
		return -ENODEV;
	name += strlen("DEVNAME=");
	char full[300];
	snprintf(full, sizeof(full), "/dev/%.*s", (int)text_line_len(name), name);
	int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* The very file that pins: its inode number is checked, because a path may have got a new file
 * meanwhile. */
static int open_file(const struct root *root, const struct zombie_file *f,
		     const struct pin_holder *holder)
{
	struct stat st;
	int fd;

	if (f->place == PLACE_DEVICE)
		return purge_open_device(root, f);
	if (holder && holder->pid)
		fd = root_open_file(root, holder->link, ROOT_MAGIC, NULL);
	else if (!f->deleted && f->path && *f->path == '/' && f->path[1])
		fd = root_open_file(root, f->path + 1, 0, NULL);
	else
		return -1;
	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_ino != f->inode)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Of a file's own file system: through the file, else through any directory of it that is mounted
 * here. */
static bool sync_file_system(const struct root *root, struct mounts *mounts, bool *mounts_are_read,
			     const struct zombie_file *f, const struct pin_holder *holder)
{
	AUTO_CLOSE int fd = open_file(root, f, holder);

	if (fd < 0) {
		if (!*mounts_are_read)
			mounts_read(root, mounts, NULL);
		*mounts_are_read = true;
		const char *dir = mounts_any_dir(mounts, f->major, f->minor);
		if (dir)
			fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	return fd >= 0 && syncfs(fd) == 0;
}

/* Dirty pages cannot be dropped, and their writeback holds its cgroup. */
void purge_sync(const struct root *root, const struct zombie_files *files,
		const struct pin_holder *holders)
{
	AUTO_MAP_U64 struct map_u64 synced = { 0 };
	AUTO_MOUNTS struct mounts mounts = { 0 };
	bool mounts_are_read = false, made;

	for (size_t i = 0; i < files->list.len; i++) {
		const struct zombie_file *f = &files->list.items[i];
		if (f->kind != PIN_FILE)
			continue;
		if (f->place == PLACE_DEVICE) {
			/* syncfs would be that of the file system of the device's node */
			AUTO_CLOSE int fd = purge_open_device(root, f);
			if (fd >= 0)
				fdatasync(fd);
			continue;
		}
		uint64_t device = (uint64_t)f->major << 32 | f->minor;
		if (map_u64_put(&synced, device, &made) && made &&
		    !sync_file_system(root, &mounts, &mounts_are_read, f,
				      f->deleted ? &holders[i] : NULL))
			map_u64_remove(&synced, device); /* another file may lead there */
	}
}

static void drop(int fd, const struct zombie_range *range, uint64_t page, uint64_t *ret_bytes)
{
	off_t at = (off_t)(range->first * page), len = (off_t)(range->pages * page);

	if (posix_fadvise(fd, at, len, POSIX_FADV_DONTNEED) == 0)
		*ret_bytes += (uint64_t)len;
}

int purge_drop_ranges(const struct root *root, struct zombie_files *files,
		      const struct pin_holder *holders, const struct purge_options *options,
		      uint64_t *ret_bytes, struct err *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	size_t opened = 0;

	vec_sort(&files->ranges, by_place);
	for (size_t i = 0; i < files->ranges.len;) {
		if (purge_stopped(err) < 0)
			return -EINTR;
		uint32_t row = files->ranges.items[i].file;
		const struct zombie_file *f = &files->list.items[row];
		AUTO_CLOSE int fd = open_file(root, f, f->deleted ? &holders[row] : NULL);
		while (i < files->ranges.len && files->ranges.items[i].file == row) {
			struct zombie_range run = files->ranges.items[i++];
			while (i < files->ranges.len && files->ranges.items[i].file == row &&
			       files->ranges.items[i].first == run.first + run.pages)
				run.pages += files->ranges.items[i++].pages;
			if (fd >= 0)
				drop(fd, &run, page, ret_bytes);
		}
		if (options->progress &&
		    (++opened % PURGE_PROGRESS_EVERY == 0 || i == files->ranges.len))
			options->progress(options->arg, "dropping pages",
					  (double)i / (double)files->ranges.len);
	}
	return 0;
}

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

static int open_device(const struct root *root, const struct zombie_file *f)
{
	AUTO_BUF struct buf text = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "sys/dev/block/%u:%u/uevent", f->major, f->minor);
	if (root_read(root, path, 4096, &text, NULL) < 0)
		return -1;
	const char *name = strstr(buf_str(&text), "DEVNAME=");
	if (!name)
		return -1;
	name += strlen("DEVNAME=");
	char full[300];
	snprintf(full, sizeof(full), "/dev/%.*s", (int)text_line_len(name), name);
	return open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* The very file that pins: its inode number is checked, because a path may have got a new file
 * meanwhile. */
static int open_file(const struct root *root, const struct zombie_file *f,
		     const struct pin_holder *holder)
{
	struct stat st;
	int fd;

	if (f->place == PLACE_DEVICE)
		return open_device(root, f);
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

/* Dirty pages cannot be dropped: write back once per file system. */
static void sync_once(struct map_u64 *synced, const struct zombie_file *f, int fd)
{
	bool made;

	if (map_u64_put(synced, (uint64_t)f->major << 32 | f->minor, &made) && made)
		syncfs(fd);
}

static void drop(int fd, const struct zombie_range *range, uint64_t page, uint64_t *ret_bytes)
{
	off_t at = (off_t)(range->first * page), len = (off_t)(range->pages * page);

	if (posix_fadvise(fd, at, len, POSIX_FADV_DONTNEED) == 0)
		*ret_bytes += (uint64_t)len;
}

int purge_drop_ranges(const struct root *root, struct zombie_files *files,
		      const struct pin_holder *holders, const struct purge_options *options,
		      uint64_t *ret_bytes)
{
	AUTO_MAP_U64 struct map_u64 synced = { 0 };
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	size_t opened = 0;

	vec_sort(&files->ranges, by_place);
	for (size_t i = 0; i < files->ranges.len;) {
		uint32_t row = files->ranges.items[i].file;
		const struct zombie_file *f = &files->list.items[row];
		AUTO_CLOSE int fd = open_file(root, f, f->deleted ? &holders[row] : NULL);
		if (fd >= 0)
			sync_once(&synced, f, fd);
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

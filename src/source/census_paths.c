/* Where the files lie that hold zombies, and who has memory that lies nowhere. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "census_impl.h"
#include "text.h"

/* Path components per slice: about a millisecond of kernel time. */
enum { PATHS_BUDGET = 4000 };

static struct paths_state *paths_start(struct census *c, unsigned targets)
{
	struct paths_state *st = (struct paths_state *)c->programs[CENSUS_JOB_PATHS].ctl;

	*st = (struct paths_state){
		.ctl = { .budget = PATHS_BUDGET, .targets = targets, .ran = st->ctl.ran },
	};
	return st;
}

/* Components come from the leaf up; one file's follow one another. */
struct path_parts {
	const char *parts[CENSUS_PATH_DEPTH];
	unsigned n;
};

/* "/dev/vda", else its numbers. */
static void device_label(const struct root *root, uint32_t major, uint32_t minor, struct buf *ret)
{
	AUTO_BUF struct buf text = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "sys/dev/block/%u:%u/uevent", major, minor);
	const char *name = root_read(root, path, 4096, &text, NULL) < 0
				   ? NULL
				   : strstr(buf_str(&text), "DEVNAME=");
	if (name)
		buf_addf(ret, "/dev/%.*s", (int)text_line_len(name + strlen("DEVNAME=")),
			 name + strlen("DEVNAME="));
	else
		buf_addf(ret, "device %u:%u", major, minor);
}

/* What a file system keeps for itself has no path: it is named for people. */
static void name_metadata(const struct census *c, struct zombie_files *files,
			  struct zombie_file *file)
{
	const char *dir = mounts_any_dir(&c->mounts, file->major, file->minor);
	bool allocator = file->magic == CENSUS_EXT4_MAGIC;
	AUTO_BUF struct buf device = { 0 };

	device_label(c->root, file->major, file->minor, &device);
	if (!dir && !allocator) /* of a file system, or read by itself */
		file->path = arena_printf(&files->strings, "buffers of the block device %s",
					  buf_str(&device));
	else
		file->path = arena_printf(&files->strings, "%s of the file system on %s (%s)",
					  allocator ? "block allocator" : "metadata",
					  buf_str(&device), dir ? dir : "not mounted here");
}

static void place_file(struct census *c, struct zombie_files *files, struct zombie_file *file,
		       struct path_parts *parts)
{
	AUTO_BUF struct buf inner = { 0 };

	for (unsigned i = parts->n; i--;)
		buf_addf(&inner, "/%s", parts->parts[i]);
	parts->n = 0;
	if (!inner.len || file->place == PLACE_DEVICE)
		return;
	file->path = mounts_path(&c->mounts, file->major, file->minor, inner.data, &files->strings);
	if (!file->path) {
		file->path = arena_strdup(&files->strings, inner.data + 1);
		file->place = PLACE_INTERNAL;
		return;
	}
	file->place = mounts_is_layer(&c->mounts, file->path) ? PLACE_OVERLAY : PLACE_PATH;
}

static int resolve_some(struct census *c, struct zombie_files *files, size_t from, unsigned n,
			struct err *err)
{
	AUTO_ARENA struct arena strings = { 0 };
	AUTO_FREE struct census_target *targets = calloc(n, sizeof(*targets));
	struct path_parts parts = { 0 };
	struct census_part copy;
	unsigned current = 0;

	if (!targets)
		return err_set(err, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < n; i++) {
		struct zombie_file *file = &files->list.items[from + i];
		targets[i] =
			(struct census_target){ .ptr = file->kernel_ptr, .check = file->inode };
		if (file->place == PLACE_DEVICE)
			name_metadata(c, files, file);
	}
	int r = census_load(c, CENSUS_JOB_PATHS, err);
	if (r == 0)
		r = census_set_targets(c, CENSUS_JOB_PATHS, targets, n, err);
	if (r < 0)
		return r;
	const struct paths_state *st = paths_start(c, n);
	while (r == 0 && !st->ctl.done) {
		r = census_slice(c, CENSUS_JOB_PATHS, err);
		for (unsigned i = 0; r == 0 && i < st->ctl.out_n; i++) {
			const struct census_part *name = census_out(c, CENSUS_JOB_PATHS, i, &copy);
			if (!name || name->index >= n)
				continue;
			if (name->index != current) {
				place_file(c, files, &files->list.items[from + current], &parts);
				current = name->index;
			}
			if (parts.n < CENSUS_PATH_DEPTH)
				parts.parts[parts.n++] = arena_strndup(
					&strings, name->name, strnlen(name->name, CENSUS_NAME));
		}
	}
	place_file(c, files, &files->list.items[from + current], &parts);
	return r;
}

/* Memory that only processes lead to. */
static void find_holders(struct census *c, struct zombie_files *files, size_t from, size_t end)
{
	for (size_t i = from; i < end; i++) {
		struct zombie_file *f = &files->list.items[i];
		if (f->kind != PIN_TMPFS || !f->deleted)
			continue;
		f->held = shared_holders_find(&c->shared, c->root, f->major, f->minor, f->inode,
					      f->path, &f->holder) == 0;
		if (f->holder.unit)
			f->holder.unit = arena_strdup(&files->strings, f->holder.unit);
		if (f->holder.owner)
			f->holder.owner = arena_strdup(&files->strings, f->holder.owner);
	}
}

int census_resolve_files(struct census *c, struct zombie_files *files, size_t from, struct err *err)
{
	if (from == files->list.len)
		return 0;
	if (!c->mounts_read) {
		c->mounts_read = true;
		int r = mounts_read(c->root, &c->mounts, err);
		if (r < 0)
			return r;
	}
	for (; from < files->list.len; from += CENSUS_OUT) {
		unsigned n = (unsigned)MIN_OF((size_t)CENSUS_OUT, files->list.len - from);
		int r = resolve_some(c, files, from, n, err);
		if (r < 0)
			return r;
		find_holders(c, files, from, from + n);
	}
	return 0;
}

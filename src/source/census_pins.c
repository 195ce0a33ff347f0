/* Which pages hold the zombies of a batch: runs of folios by inode, merged per zombie and file, and
 * the paths of new files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "auto.h"
#include "census_impl.h"

/* Pages or path components per slice: about a millisecond of kernel time. */
enum { PINS_BUDGET = 4000 };

static struct pins_state *pins_start(struct census *c, unsigned targets, bool anon_only)
{
	struct pins_state *st = (struct pins_state *)c->programs[CENSUS_JOB_PINS].ctl;

	*st = (struct pins_state){
		.ctl = { .budget = PINS_BUDGET, .targets = targets, .ran = st->ctl.ran },
		.nodes = c->nodes,
		.anon_only = anon_only,
	};
	return st;
}

static struct paths_state *paths_start(struct census *c, unsigned targets)
{
	struct paths_state *st = (struct paths_state *)c->programs[CENSUS_JOB_PATHS].ctl;

	*st = (struct paths_state){
		.ctl = { .budget = PINS_BUDGET, .targets = targets, .ran = st->ctl.ran },
	};
	return st;
}

/* s_dev as the kernel packs it. */
static uint32_t dev_major(uint32_t dev)
{
	return dev >> 20;
}

static uint32_t dev_minor(uint32_t dev)
{
	return dev & 0xfffff;
}

size_t census_file_row(struct zombie_files *files, const struct census_pin *raw)
{
	bool made;
	uint64_t tell = raw->kind == CENSUS_PIN_SHMEM && !raw->nlink ? raw->inode : 0;
	size_t row = zombie_files_put(files, dev_major(raw->dev), dev_minor(raw->dev), raw->ino,
				      tell, &made);

	if (row == SIZE_MAX || !made)
		return row;
	struct zombie_file *file = &files->list.items[row];
	file->deleted = raw->nlink == 0;
	file->generation = raw->generation;
	file->magic = raw->magic;
	file->kind = raw->kind == CENSUS_PIN_SHMEM ? PIN_TMPFS : PIN_FILE;
	file->kernel_ptr = raw->inode;
	if (raw->magic == CENSUS_BDEV_MAGIC) {
		file->place = PLACE_DEVICE;
		file->deleted = false;
		file->path = "[block device: file system metadata]";
	}
	return row;
}

static bool take_pin(struct census *c, struct zombie_files *files, const struct census_pin *raw,
		     const unsigned *batch_index)
{
	struct census_batch_pin p = {
		.zombie = batch_index[raw->zombie],
		.pin = { .bytes = raw->pages * c->page_bytes },
	};

	switch (raw->kind) {
	case CENSUS_PIN_FILE:
		p.pin.kind = PIN_FILE;
		break;
	case CENSUS_PIN_SHMEM:
		p.pin.kind = PIN_TMPFS;
		break;
	case CENSUS_PIN_ANON:
		p.pin.kind = PIN_ANON;
		break;
	default:
		p.pin.kind = PIN_PAGES;
	}
	if (files && (p.pin.kind == PIN_FILE || p.pin.kind == PIN_TMPFS)) {
		p.pin.file = census_file_row(files, raw);
		if (p.pin.file == SIZE_MAX)
			return false;
		struct zombie_range range = { (uint32_t)p.pin.file, (uint32_t)raw->pages,
					      raw->index };
		if (c->want & CENSUS_WANT_RANGES && p.pin.kind == PIN_FILE &&
		    !vec_push(&files->ranges, range))
			return false;
	}
	return vec_push(&c->pins, p);
}

static int by_zombie_and_file(const void *a, const void *b)
{
	const struct census_batch_pin *x = a, *y = b;

	if (x->zombie != y->zombie)
		return x->zombie < y->zombie ? -1 : 1;
	if (x->pin.kind != y->pin.kind)
		return x->pin.kind < y->pin.kind ? -1 : 1;
	return x->pin.file < y->pin.file ? -1 : x->pin.file > y->pin.file;
}

/* Runs of one file on one zombie become one pin; the file's sums grow by it. */
static void merge_pins(struct census *c, struct zombie_files *files)
{
	size_t kept = 0;

	vec_sort(&c->pins, by_zombie_and_file);
	for (size_t i = 0; i < c->pins.len; i++) {
		struct census_batch_pin *p = &c->pins.items[i];
		struct census_batch_pin *last = kept ? &c->pins.items[kept - 1] : NULL;
		if (last && by_zombie_and_file(last, p) == 0)
			last->pin.bytes += p->pin.bytes;
		else
			c->pins.items[kept++] = *p;
	}
	c->pins.len = kept;
	if (!files)
		return;
	vec_foreach (&c->pins, p) {
		if (p->pin.kind != PIN_FILE && p->pin.kind != PIN_TMPFS)
			continue;
		files->list.items[p->pin.file].bytes += p->pin.bytes;
		files->list.items[p->pin.file].zombies++;
	}
}

/* Components come from the leaf up; one file's follow one another. */
struct path_parts {
	const char *parts[CENSUS_PATH_DEPTH];
	unsigned n;
};

static void place_file(struct census *c, struct zombie_files *files, struct zombie_file *file,
		       struct path_parts *parts)
{
	AUTO_BUF struct buf inner = { 0 };

	for (unsigned i = parts->n; i--;)
		buf_addf(&inner, "/%s", parts->parts[i]);
	parts->n = 0;
	if (!inner.len)
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
		targets[i].ptr = files->list.items[from + i].kernel_ptr;
		targets[i].check = files->list.items[from + i].inode;
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

/* Which of the batch are worth a look, as targets. */
static unsigned choose_targets(const struct census *c, bool anon_only,
			       struct census_target *targets, unsigned *batch_index)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->n_batch; i++) {
		const struct census_rec *rec = &c->batch[i];
		if (!c->asked[i] || !(rec->have & CENSUS_HAVE_LRU))
			continue;
		uint64_t pages = rec->lru[0] + rec->lru[1];
		if (!anon_only)
			pages += rec->lru[2] + rec->lru[3];
		if (!pages)
			continue;
		batch_index[n] = i;
		targets[n++] = (struct census_target){ .ptr = rec->css, .check = rec->serial };
	}
	return n;
}

static int look(struct census *c, struct zombie_files *files, const unsigned *batch_index,
		unsigned n, bool anon_only, struct err *err)
{
	const struct pins_state *st = pins_start(c, n, anon_only);
	struct census_pin copy;
	int r = 0;

	while (r == 0 && !st->ctl.done) {
		r = census_slice(c, CENSUS_JOB_PINS, err);
		for (unsigned i = 0; r == 0 && i < st->ctl.out_n; i++) {
			const struct census_pin *raw = census_out(c, CENSUS_JOB_PINS, i, &copy);
			if (raw && raw->zombie < n && !take_pin(c, files, raw, batch_index))
				r = err_set(err, -ENOMEM, "out of memory");
		}
	}
	c->broken_lists += st->broken;
	return r;
}

int census_batch_pins(struct census *c, struct zombie_files *files, bool anon_only, struct err *err)
{
	struct census_target targets[CENSUS_OUT];
	unsigned batch_index[CENSUS_OUT];
	size_t known = files ? files->list.len : 0;

	c->pins.len = 0;
	unsigned n = choose_targets(c, anon_only, targets, batch_index);
	if (!n)
		return 0;
	int r = census_load(c, CENSUS_JOB_PINS, err);
	if (r == 0)
		r = census_set_targets(c, CENSUS_JOB_PINS, targets, n, err);
	if (r < 0)
		return r;
	r = look(c, anon_only ? NULL : files, batch_index, n, anon_only, err);
	if (r == 0)
		merge_pins(c, anon_only ? NULL : files);
	if (r == 0 && files && !anon_only)
		r = census_resolve_files(c, files, known, err);
	return r;
}

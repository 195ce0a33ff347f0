/* Which pages hold the zombies of a batch: runs of folios by inode, merged per zombie and file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "auto.h"
#include "census_impl.h"

/* Pages per slice: about a millisecond of kernel time. */
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

/* s_dev as the kernel packs it. */
static uint32_t dev_major(uint32_t dev)
{
	return dev >> 20;
}

static uint32_t dev_minor(uint32_t dev)
{
	return dev & 0xfffff;
}

/* ext4 keeps which blocks are free in pages of an inode that is in no directory. */
static bool is_allocator(const struct census_pin *raw)
{
	return raw->magic == CENSUS_EXT4_MAGIC && raw->ino == CENSUS_EXT4_ALLOCATOR;
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
	if (raw->magic == CENSUS_BDEV_MAGIC || is_allocator(raw)) {
		file->place = PLACE_DEVICE;
		file->deleted = false;
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
	if (p.pin.kind == PIN_ANON && raw->pid) {
		p.pin.pid = raw->pid;
		p.pin.parent_pid = raw->ppid;
		memcpy(p.pin.comm, raw->comm, sizeof(p.pin.comm));
		p.pin.comm[sizeof(p.pin.comm) - 1] = '\0';
	}
	if (files && (p.pin.kind == PIN_FILE || p.pin.kind == PIN_TMPFS)) {
		p.pin.file = census_file_row(files, raw);
		if (p.pin.file == SIZE_MAX)
			return false;
		struct zombie_range range = { (uint32_t)p.pin.file, (uint32_t)raw->pages,
					      raw->index };
		if (c->want & CENSUS_WANT_RANGES && p.pin.kind == PIN_FILE && !is_allocator(raw) &&
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
	if (x->pin.file != y->pin.file)
		return x->pin.file < y->pin.file ? -1 : 1;
	return x->pin.pid < y->pin.pid ? -1 : x->pin.pid > y->pin.pid;
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
	return r;
}

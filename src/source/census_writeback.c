/* Zombies that writeback holds, and one file of each. */
#include <errno.h>
#include <string.h>

#include "census_impl.h"

/* Steps per slice, about a millisecond of kernel time; in all, for lists that never end. */
enum { WRITEBACK_BUDGET = 4000, WRITEBACK_MOST_STEPS = 1 << 20 };

static int take(struct census *c, const struct census_writeback *raw, struct err *err)
{
	struct census_ref ref = {
		.css = raw->css,
		.pin = {
			.kind = PIN_WRITEBACK,
			.file = ZOMBIE_NO_FILE,
			.dirty = raw->dirty,
			.until_evicted = !raw->cleaner,
		},
		.file = raw->file,
	};

	return vec_push(&c->refs, ref) ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int walk_devices(struct census *c, const struct writeback_state *st, struct err *err)
{
	struct census_writeback copy;
	int r = 0;

	while (r == 0 && !st->ctl.done && st->ctl.steps < WRITEBACK_MOST_STEPS) {
		r = census_slice(c, CENSUS_JOB_WRITEBACK, err);
		for (unsigned i = 0; r == 0 && i < st->ctl.out_n; i++) {
			const struct census_writeback *raw =
				census_out(c, CENSUS_JOB_WRITEBACK, i, &copy);
			if (raw)
				r = take(c, raw, err);
		}
	}
	if (r == 0 && !st->ctl.done)
		r = err_set(err, -EAGAIN, "the lists of writeback did not end");
	return r;
}

int census_read_writeback(struct census *c, struct unknowns *unknowns, struct err *err)
{
	int r = census_load(c, CENSUS_JOB_WRITEBACK, err);
	if (r < 0)
		return r;
	struct writeback_state *st =
		(struct writeback_state *)c->programs[CENSUS_JOB_WRITEBACK].ctl;
	*st = (struct writeback_state){ .ctl = { .budget = WRITEBACK_BUDGET, .ran = st->ctl.ran } };
	r = walk_devices(c, st, err);
	if (r < 0)
		c->refs.len = 0; /* a part would look like the whole */
	else if (st->lost)
		unknowns_add(unknowns, CENSUS_WRITEBACK_UNKNOWN,
			     "its lists changed while they were read: some may be missing");
	return r;
}

int census_batch_writeback(struct census *c, struct zombie_files *files, struct err *err)
{
	for (unsigned i = 0; i < c->n_batch; i++) {
		size_t n = 0;
		struct census_ref *refs =
			c->asked[i] ? census_refs_of(c, c->batch[i].css, &n) : NULL;
		for (size_t k = 0; k < n; k++) {
			if (refs[k].pin.kind != PIN_WRITEBACK || !refs[k].file.inode)
				continue;
			size_t row = census_file_row(files, &refs[k].file);
			if (row == SIZE_MAX)
				return err_set(err, -ENOMEM, "out of memory");
			refs[k].pin.file = row;
			files->list.items[row].writeback++;
		}
	}
	return 0;
}

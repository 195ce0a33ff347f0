/* Zombies that writeback holds, and one file of each. */
#include <errno.h>
#include <string.h>

#include "census_impl.h"

/* Steps per slice, about a millisecond of kernel time; in all, for lists that never end. */
enum { WRITEBACK_BUDGET = 4000, WRITEBACK_MOST_STEPS = 20 << 20 };

static int take(struct census *c, struct zombie_files *files, const struct census_writeback *raw,
		struct err *err)
{
	struct census_ref ref = {
		.css = raw->css,
		.pin = {
			.kind = PIN_WRITEBACK,
			.file = ZOMBIE_NO_FILE,
			.dirty = raw->dirty,
			.until_evicted = !raw->cleaner,
		},
	};

	if (files && raw->file.inode) {
		ref.pin.file = census_file_row(files, &raw->file);
		if (ref.pin.file == SIZE_MAX)
			return err_set(err, -ENOMEM, "out of memory");
		files->list.items[ref.pin.file].writeback++;
	}
	return vec_push(&c->refs, ref) ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int census_read_writeback(struct census *c, struct zombie_files *files, struct err *err)
{
	size_t known = files ? files->list.len : 0;
	struct census_writeback copy;

	int r = census_load(c, CENSUS_JOB_WRITEBACK, err);
	if (r < 0)
		return r;
	struct writeback_state *st =
		(struct writeback_state *)c->programs[CENSUS_JOB_WRITEBACK].ctl;
	*st = (struct writeback_state){ .ctl = { .budget = WRITEBACK_BUDGET, .ran = st->ctl.ran } };
	while (r == 0 && !st->ctl.done && st->ctl.steps < WRITEBACK_MOST_STEPS) {
		r = census_slice(c, CENSUS_JOB_WRITEBACK, err);
		for (unsigned i = 0; r == 0 && i < st->ctl.out_n; i++) {
			const struct census_writeback *raw =
				census_out(c, CENSUS_JOB_WRITEBACK, i, &copy);
			if (raw)
				r = take(c, files, raw, err);
		}
	}
	if (r == 0 && !st->ctl.done)
		r = err_set(err, -EAGAIN, "the lists of writeback did not end");
	if (r == 0 && files)
		r = census_resolve_files(c, files, known, err);
	return r;
}

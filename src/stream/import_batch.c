#include "import_batch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "auto.h"
#include "import_store.h"
#include "text.h"
#include "timefmt.h"

enum {
	FILES_MAX = 100000,
	SAMPLES_HELD = 1 << 20,            /* in memory at once */
	SEGMENT_S = 60,                    /* samples are written up to a whole minute */
	SAME_CLOCK_NS = 5 * 1000000000ULL, /* starts of files of one boot agree that well */
};

static int batch_push(struct import_batch *b, const char *path, struct err *err)
{
	struct import_batch_file f = { .path = arena_strdup(&b->arena, path),
				       .order_ns = UINT64_MAX };

	if (b->files.len >= FILES_MAX)
		return err_set(err, -EFBIG, "more than %d files", FILES_MAX);
	if (!f.path)
		return err_set(err, -ENOMEM, "out of memory");
	if (import_name_time(path, &f.order_ns) < 0)
		f.order_ns = UINT64_MAX;
	return vec_push(&b->files, f) ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int import_batch_add(struct import_batch *b, const char *path, struct err *err)
{
	struct stat st;
	struct dirent *e;
	size_t before = b->files.len;

	if (strcmp(path, "-") != 0 && stat(path, &st) < 0)
		return err_path(err, -errno, path);
	if (strcmp(path, "-") == 0 || !S_ISDIR(st.st_mode) || import_is_dir(path))
		return batch_push(b, path, err);
	AUTO_CLOSEDIR DIR *dir = opendir(path);
	if (!dir)
		return err_path(err, -errno, path);
	while ((e = readdir(dir))) {
		char full[4096];
		if (e->d_name[0] == '.')
			continue;
		if ((size_t)snprintf(full, sizeof(full), "%s/%s", path, e->d_name) >= sizeof(full))
			continue;
		if (stat(full, &st) < 0 || !(S_ISREG(st.st_mode) || import_is_dir(full)))
			continue;
		int r = batch_push(b, full, err);
		if (r < 0)
			return r;
	}
	if (b->files.len == before)
		return err_set(err, -ENOENT, "%s: no file in this directory", path);
	return 0;
}

static int file_compare(const void *a, const void *b)
{
	const struct import_batch_file *x = a, *y = b;

	if (x->order_ns != y->order_ns)
		return x->order_ns < y->order_ns ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* Names give whole seconds, and perf needs some time to start, so that a file's first sample is a
 * little later than its name says. Files of one boot share a clock: the latest of the starts that
 * their names allow is the nearest to the truth for all of them, and keeps their distances exact.
 */
static bool batch_clock(const struct import_batch *b, int64_t *ret_offset_ns)
{
	int64_t lowest = INT64_MAX, highest = INT64_MIN;
	size_t n = 0;

	vec_foreach (&b->files, f) {
		uint64_t first;
		if (f->order_ns == UINT64_MAX || import_first_sample(f->path, &first) < 0)
			return false;
		int64_t offset = (int64_t)(f->order_ns - first);
		lowest = MIN_OF(lowest, offset);
		highest = MAX_OF(highest, offset);
		n++;
	}
	if (n < 2 || (uint64_t)(highest - lowest) > SAME_CLOCK_NS)
		return false;
	*ret_offset_ns = highest;
	return true;
}

struct batch_run {
	struct import_batch *b;
	struct import_store *store;
	size_t file;
};

/* Keep the minute that is not complete: samples that come late may belong to it. */
static int run_full(void *arg, struct profile *p, struct err *err)
{
	struct batch_run *run = arg;
	uint64_t newest = 0;

	vec_foreach (&p->samples, s)
		newest = MAX_OF(newest, s->time_ns);
	int r = import_store_write(run->store, p,
				   newest / (SEGMENT_S * NS_PER_S) * (SEGMENT_S * NS_PER_S), err);
	if (r < 0 || p->samples.len < SAMPLES_HELD / 2)
		return r;
	return import_store_write(run->store, p, UINT64_MAX, err); /* a very full minute */
}

static void run_progress(void *arg, uint64_t done, uint64_t total)
{
	struct batch_run *run = arg;
	struct import_batch *b = run->b;

	if (b->progress)
		b->progress(b->progress_arg, b->files.items[run->file].path, run->file,
			    b->files.len, done, total);
}

static int run_file(struct batch_run *run, const struct import_options *options, struct err *err)
{
	AUTO_PROFILE struct profile p = { 0 };
	static const struct import_ops ops = { .full = run_full, .progress = run_progress };
	struct import_batch_file *f = &run->b->files.items[run->file];
	struct import_options mine = *options;
	struct err why = { 0 };

	if (profile_init(&p) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	import_store_new_profile(run->store);
	mine.most_samples = SAMPLES_HELD;
	/* --anchor speaks of the first file; the others follow on its clock */
	if (options->have_anchor && run->file > 0 && run->b->files.items[0].info.own_first_ns) {
		mine.have_anchor = false;
		mine.have_offset = true;
		mine.offset_ns = run->b->files.items[0].info.offset_ns;
	}
	int r = import_path(f->path, &mine, &ops, run, &p, &f->info, &why);
	if (r < 0) {
		f->failed = true;
		text_copy(f->why, sizeof(f->why), why.text);
	}
	import_store_source(run->store, &f->info);
	/* what was read before an error happened all the same */
	return import_store_write(run->store, &p, UINT64_MAX, err);
}

/* What the recording takes when its last segment is sealed, with its footer. */
static uint64_t recording_bytes(const char *path)
{
	AUTO_CLOSEDIR DIR *dir = opendir(path);
	struct dirent *e;
	struct stat st;
	uint64_t bytes = 0;

	while (dir && (e = readdir(dir)))
		if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_size;
	return bytes;
}

int import_batch_run(struct import_batch *b, const struct import_options *options,
		     const char *store_dir, struct err *err)
{
	struct batch_run run = { .b = b };
	struct import_options mine = *options;

	vec_sort(&b->files, file_compare);
	if (!mine.have_anchor && batch_clock(b, &mine.offset_ns))
		mine.have_offset = true;
	int r = import_store_open(store_dir, &run.store, err);
	if (r < 0)
		return r;
	for (run.file = 0; run.file < b->files.len && r == 0; run.file++)
		r = run_file(&run, &mine, err);
	struct err closing = { 0 };
	int r2 = import_store_close(run.store, &closing);
	b->bytes = recording_bytes(store_dir);
	if (r == 0 && r2 < 0)
		r = err_set(err, r2, "%s", closing.text);
	return r;
}

void import_batch_free(struct import_batch *b)
{
	vec_free(&b->files);
	arena_free(&b->arena);
}

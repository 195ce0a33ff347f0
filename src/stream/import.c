#include "import.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "auto.h"
#include "import_impl.h"
#include "text.h"
#include "timefmt.h"

const char *import_wall_name(enum import_wall wall)
{
	static const char *const names[] = { "none", "clock-data", "file-name", "anchor" };
	return names[wall];
}

/* --- the time in a file's name --- */

/* n digits at p as a number; false when they are not all digits. */
static bool digits(const char *p, size_t n, int *ret)
{
	int v = 0;

	for (size_t i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return false;
		v = v * 10 + (p[i] - '0');
	}
	*ret = v;
	return true;
}

/* YYYY?MM?DD?HH?MM?SS with at most one divider between the parts; *ret_end behind it. */
static bool name_date(const char *p, struct tm *ret, const char **ret_end)
{
	static const uint8_t widths[] = { 4, 2, 2, 2, 2, 2 };
	int part[6];

	for (size_t i = 0; i < ARRAY_LEN(widths); i++) {
		if (i && *p && strchr("-_.:T", *p))
			p++;
		if (strnlen(p, widths[i]) < widths[i] || !digits(p, widths[i], &part[i]))
			return false;
		p += widths[i];
	}
	if (part[0] < 1990 || part[0] > 2200 || part[1] < 1 || part[1] > 12 || part[2] < 1 ||
	    part[2] > 31 || part[3] > 23 || part[4] > 59 || part[5] > 60)
		return false;
	*ret = (struct tm){ .tm_year = part[0] - 1900,
			    .tm_mon = part[1] - 1,
			    .tm_mday = part[2],
			    .tm_hour = part[3],
			    .tm_min = part[4],
			    .tm_sec = part[5],
			    .tm_isdst = -1 };
	*ret_end = p;
	return true;
}

static bool name_zone(const char *p, struct tm *tm, uint64_t *ret_ns)
{
	int hours, minutes;
	long shift = 0;
	bool utc = *p == 'Z' || text_starts(p, "UTC");

	if ((*p == '+' || *p == '-') && digits(p + 1, 2, &hours) && digits(p + 3, 2, &minutes) &&
	    !isdigit((unsigned char)p[5])) {
		shift = (hours * 60L + minutes) * 60 * (*p == '+' ? 1 : -1);
		utc = true;
	}
	time_t t = utc ? timegm(tm) - shift : mktime(tm);
	if (t < 0)
		return false;
	*ret_ns = (uint64_t)t * NS_PER_S;
	return true;
}

/* Seconds (10 digits), milliseconds (13) or nanoseconds (19) since the epoch. */
static bool name_epoch(const char *p, size_t len, uint64_t *ret_ns)
{
	uint64_t v;
	const char *at = p;

	if (text_take_u64(&at, &v) < 0)
		return false;
	if (len == 10)
		*ret_ns = v * NS_PER_S;
	else if (len == 13)
		*ret_ns = v * NS_PER_MS;
	else if (len == 19)
		*ret_ns = v;
	else
		return false;
	uint64_t s = *ret_ns / NS_PER_S;
	return s >= 631152000 && s < 4102444800; /* 1990 ... 2100 */
}

int import_name_time(const char *name, uint64_t *ret_ns)
{
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name, *end;
	struct tm tm;

	/* The host comes first and may hold digits, so the last time in the name counts. */
	for (const char *p = base + strlen(base); p-- > base;) {
		uint64_t ns;
		if (!isdigit((unsigned char)*p) || (p > base && isdigit((unsigned char)p[-1])))
			continue;
		size_t len = strspn(p, "0123456789");
		if ((name_date(p, &tm, &end) && !isdigit((unsigned char)*end) &&
		     name_zone(end, &tm, &ns)) ||
		    name_epoch(p, len, &ns)) {
			*ret_ns = ns;
			return 0;
		}
	}
	return -ENODATA;
}

/* --- samples --- */

uint64_t import_time(struct import *im, uint64_t own_ns)
{
	if (!im->info->own_first_ns)
		im->info->own_first_ns = own_ns;
	if (!im->have_offset) {
		const struct import_options *o = im->options;
		uint64_t start;
		im->have_offset = true;
		if (o->have_anchor) {
			im->offset_ns = (int64_t)(o->anchor_ns - own_ns);
			im->info->wall = IMPORT_WALL_ANCHOR;
		} else if (o->have_offset) {
			im->offset_ns = o->offset_ns;
			im->info->wall = IMPORT_WALL_NAME;
		} else if (o->name && import_name_time(o->name, &start) == 0) {
			im->offset_ns = (int64_t)(start - own_ns);
			im->info->wall = IMPORT_WALL_NAME;
		}
		im->info->offset_ns = im->offset_ns;
	}
	return own_ns + (uint64_t)im->offset_ns;
}

int import_add_sample(struct import *im, struct profile_sample *sample, struct err *err)
{
	struct import_info *info = im->info;

	if (sample->have & PROFILE_HAVE_TIME) {
		if (!info->first_ns || sample->time_ns < info->first_ns)
			info->first_ns = sample->time_ns;
		if (sample->time_ns > info->last_ns)
			info->last_ns = sample->time_ns;
	}
	if (!profile_add_sample(im->p, sample) || profile_failed(im->p))
		return err_set(err, -ENOMEM, "out of memory");
	info->n_samples++;
	if (im->options->most_samples && im->p->samples.len >= im->options->most_samples &&
	    im->ops && im->ops->full)
		return im->ops->full(im->arg, im->p, err);
	return 0;
}

/* --- files --- */

int64_t import_read_at(void *arg, uint64_t offset, void *ret, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n =
			pread(*(int *)arg, (char *)ret + done, len - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (int64_t)done;
}

static int import_any(struct import *im, int fd, struct err *err)
{
	char magic[8];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	im->size = (uint64_t)st.st_size;
	if (st.st_size == 0)
		return err_set(err, -ENODATA, "the file is empty");
	int64_t n = import_read_at(&fd, 0, magic, sizeof(magic));
	if (n < 0)
		return err_set(err, (int)n, "%s", strerror((int)-n));
	if (!perf_data_is(magic, (size_t)n))
		return import_perf_script(im, fd, err);
	struct perf_input in = { .read_at = import_read_at, .arg = &fd, .size = im->size };
	return import_perf_data(im, &in, err);
}

/* What is known of the profile when all is read. */
static void import_finish(struct profile *p, struct import_info *ret)
{
	p->meta.wall_time = ret->wall != IMPORT_WALL_NONE;
	if (ret->host[0])
		p->meta.host = profile_add_text(p, ret->host);
	if (ret->kernel[0])
		p->meta.kernel = profile_add_text(p, ret->kernel);
	for (size_t i = 1; i < p->frames.len; i++)
		ret->n_named += p->frames.items[i].symbol != 0;
	ret->n_frames = p->frames.len - 1;
}

int import_fd(int fd, const struct import_options *options, const struct import_ops *ops, void *arg,
	      struct profile *p, struct import_info *ret, struct err *err)
{
	struct import im = { .options = options, .ops = ops, .arg = arg, .p = p, .info = ret };
	int seekable = -1;

	*ret = (struct import_info){ 0 };
	int r = import_unpack(fd, &seekable, err);
	if (r < 0)
		return r;
	r = import_any(&im, seekable, err);
	if (seekable != fd)
		close(seekable);
	import_finish(p, ret);
	return r;
}

static int import_perf_dir(const char *path, const struct import_options *options,
			   const struct import_ops *ops, void *arg, struct profile *p,
			   struct import_info *ret, struct err *err)
{
	struct import im = { .options = options, .ops = ops, .arg = arg, .p = p, .info = ret };

	*ret = (struct import_info){ 0 };
	int r = import_dir(&im, path, err);
	import_finish(p, ret);
	return r;
}

int import_path(const char *path, const struct import_options *options,
		const struct import_ops *ops, void *arg, struct profile *p, struct import_info *ret,
		struct err *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	AUTO_CLOSE int fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
				     : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return err_path(err, -errno, path);
	struct import_options named = *options;
	if (!named.name && !is_stdin)
		named.name = path;
	int r = import_is_dir(path) ? import_perf_dir(path, &named, ops, arg, p, ret, err)
				    : import_fd(fd, &named, ops, arg, p, ret, err);
	return r < 0 ? err_prefix(err, r, "%s", is_stdin ? "standard input" : path) : r;
}

static int first_stop(void *arg, const struct perf_data *d, const struct perf_rec *rec,
		      struct err *err)
{
	(void)arg, (void)d, (void)rec, (void)err;
	return 1;
}

int import_first_sample(const char *path, uint64_t *ret_ns)
{
	AUTO_CLOSE int fd = import_open(path);
	AUTO_PERF_DATA struct perf_data data = { 0 };
	struct perf_data_ops ops = { .record = first_stop };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	struct perf_input in = { .read_at = import_read_at,
				 .arg = &fd,
				 .size = (uint64_t)st.st_size };
	int r = perf_data_read(&in, PERF_DATA_FILE_ORDER, &ops, NULL, &data, NULL);
	if (r < 0 || !data.have_sample_time || data.have_clock_data || !data.first_ns)
		return r < 0 ? r : -ENODATA;
	*ret_ns = data.first_ns;
	return 0;
}

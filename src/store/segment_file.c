#include "segment_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "text.h"
#include "timefmt.h"
#include "wire.h"

#define FILE_BUDGET   (UINT64_C(64) << 20)
#define FILE_SLACK_NS (SEGMENT_SLACK_S * NS_PER_S)

void segment_file_close(struct segment_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	f->sealed = false;
	segment_index_clear(&f->index);
	buf_clear(&f->bytes);
	f->base = 0;
}

void segment_file_free(struct segment_file *f)
{
	segment_file_close(f);
	segment_index_free(&f->index);
	buf_free(&f->bytes);
}

static int file_read(struct segment_file *f, uint64_t at, uint64_t most, struct buf *out,
		     struct err *err)
{
	char name[SEGMENT_NAME_MAX];

	while (most) {
		size_t want = MIN_OF(most, (uint64_t)1 << 20);
		if (!buf_reserve(out, want))
			return err_set(err, -ENOMEM, "out of memory");
		ssize_t n = pread(f->fd, out->data + out->len, want, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int code = -errno;
			segment_name_print(name, &f->name);
			return err_path(err, code, name);
		}
		if (n == 0)
			break;
		out->len += (size_t)n;
		out->data[out->len] = '\0';
		at += (uint64_t)n;
		most -= (uint64_t)n;
	}
	return 0;
}

int segment_file_load(struct segment_file *f, uint64_t from, uint64_t to, struct err *err)
{
	buf_clear(&f->bytes);
	f->base = from;
	return to > from ? file_read(f, from, to - from, &f->bytes, err) : 0;
}

int segment_file_load_more(struct segment_file *f, uint64_t from, struct err *err)
{
	size_t keep = from > f->base ? MIN_OF((size_t)(from - f->base), f->bytes.len) : 0;
	uint64_t end = f->base + keep;

	if (end >= SEGMENT_MOST_BYTES)
		return 0;
	f->bytes.len = keep;
	int r = file_read(f, end, SEGMENT_MOST_BYTES - end, &f->bytes, err);
	if (r < 0)
		return r;
	return frame_wire_find(f->bytes.data, f->bytes.len, keep, &f->name, &f->budget) <
	       f->bytes.len;
}

int segment_file_payload(const struct frame_head *head, ZSTD_DCtx *zstd, struct buf *scratch,
			 const void **ret, size_t *ret_len)
{
	if (!head->zstd) {
		*ret = head->stored;
		*ret_len = head->stored_len;
		return 0;
	}
	unsigned long long len = ZSTD_getFrameContentSize(head->stored, head->stored_len);
	if (len > FRAME_MOST_BYTES) /* the two error values are larger still */
		return -EBADMSG;
	buf_clear(scratch);
	if (!buf_reserve(scratch, (size_t)len + 1))
		return -ENOMEM;
	size_t n = ZSTD_decompressDCtx(zstd, scratch->data, (size_t)len, head->stored,
				       head->stored_len);
	if (ZSTD_isError(n) || n != len)
		return -EBADMSG;
	scratch->len = n;
	*ret = scratch->data;
	*ret_len = n;
	return 0;
}

/* The index from the footer; false when there is no intact one. */
static bool file_read_footer(struct segment_file *f, uint64_t file_len, ZSTD_DCtx *zstd,
			     struct buf *scratch)
{
	uint8_t end[SEGMENT_END_BYTES];
	struct frame_head head;
	const void *payload;
	uint64_t offset;
	size_t len;

	if (file_len < SEGMENT_END_BYTES ||
	    pread(f->fd, end, sizeof(end), (off_t)(file_len - sizeof(end))) != sizeof(end) ||
	    !segment_end_parse(end, f->name.salt, &offset) || offset > file_len - sizeof(end))
		return false;
	if (segment_file_load(f, offset, file_len - sizeof(end), NULL) < 0)
		return false;
	if (frame_wire_get(f->bytes.data, f->bytes.len, &f->name, &head) != (ssize_t)f->bytes.len ||
	    head.kind != FRAME_FOOTER ||
	    segment_file_payload(&head, zstd, scratch, &payload, &len) < 0)
		return false;
	f->end_offset = offset;
	return segment_footer_parse(payload, len, offset, &f->index) == 0;
}

static void file_index_frame(struct segment_file *f, const struct frame_head *head, uint64_t offset)
{
	struct wire_reader r;
	size_t len;

	segment_index_add(&f->index, head->kind, head->time_ns, offset);
	if (head->kind != FRAME_SEGMENT || head->zstd)
		return;
	wire_open(&r, head->stored, head->stored_len);
	f->index.start_mono_ns = wire_get_u64(&r);
	f->index.start_boot_ns = wire_get_u64(&r);
	const char *boot_id = wire_get_bytes(&r, &len);
	if (boot_id)
		text_copy_n(f->index.boot_id, sizeof(f->index.boot_id), boot_id, len);
}

/* No footer: look at every intact frame. The walk over bytes names the damage, not this. */
static int file_scan(struct segment_file *f, uint64_t file_len, struct err *err)
{
	uint64_t budget = FILE_BUDGET;
	size_t at = SEGMENT_MAGIC_BYTES;
	struct frame_head head;

	segment_index_clear(&f->index);
	int r = segment_file_load(f, 0, MIN_OF(file_len, (uint64_t)SEGMENT_MOST_BYTES), err);
	if (r < 0)
		return r;
	while (at < f->bytes.len) {
		ssize_t n = frame_wire_get(f->bytes.data + at, f->bytes.len - at, &f->name, &head);
		if (n < 0) {
			at = frame_wire_find(f->bytes.data, f->bytes.len, at + 1, &f->name,
					     &budget);
			continue;
		}
		file_index_frame(f, &head, at);
		at += (size_t)n;
	}
	return 0;
}

/* A recording of another format is refused: its digit differs and its first frame is none of ours.
 * Other bytes in that place are damage like any. */
static int file_check_format(const struct segment_file *f, const char *name, struct err *err)
{
	char start[512];
	ssize_t n = pread(f->fd, start, sizeof(start), 0);
	char format = n >= SEGMENT_MAGIC_BYTES ? start[SEGMENT_FORMAT_AT] : '\0';
	struct frame_head head;

	if (format < '0' || format > '9' || format == segment_magic[SEGMENT_FORMAT_AT] ||
	    memcmp(start, segment_magic, SEGMENT_FORMAT_AT) != 0 ||
	    frame_wire_get(start + SEGMENT_MAGIC_BYTES, (size_t)n - SEGMENT_MAGIC_BYTES, &f->name,
			   &head) > 0)
		return 0;
	return err_set(err, -EPROTONOSUPPORT,
		       "%s: recorded in format %c by another version of zombiescope; this one "
		       "reads format %c",
		       name, format, segment_magic[SEGMENT_FORMAT_AT]);
}

int segment_file_open(struct segment_file *f, int dir_fd, const struct segment_name *name,
		      ZSTD_DCtx *zstd, struct buf *scratch, struct err *err)
{
	char text[SEGMENT_NAME_MAX];
	struct stat st;

	segment_file_close(f);
	segment_name_print(text, name);
	f->name = *name;
	f->budget = FILE_BUDGET;
	f->fd = openat(dir_fd, text, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (f->fd < 0 || fstat(f->fd, &st) < 0)
		return err_path(err, -errno, text);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "%s: is no regular file", text);
	int r = file_check_format(f, text, err);
	if (r < 0)
		return r;
	f->sealed = file_read_footer(f, (uint64_t)st.st_size, zstd, scratch);
	return f->sealed ? 0 : file_scan(f, (uint64_t)st.st_size, err);
}

uint64_t segment_file_offset_before(const struct segment_file *f, uint64_t time_ns)
{
	const struct segment_index *index = &f->index;
	size_t low = 0, high = index->seconds.len;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (index->seconds.items[mid].time_ns + FILE_SLACK_NS < time_ns)
			low = mid + 1;
		else
			high = mid;
	}
	/* events written before the first anchor belong to the first second */
	return low == 0 ? SEGMENT_MAGIC_BYTES : index->seconds.items[low - 1].offset;
}

uint64_t segment_file_offset_after(const struct segment_file *f, uint64_t time_ns)
{
	const struct segment_index *index = &f->index;
	size_t low = 0, high = index->seconds.len;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (index->seconds.items[mid].time_ns < time_ns ||
		    index->seconds.items[mid].time_ns - time_ns < FILE_SLACK_NS)
			low = mid + 1;
		else
			high = mid;
	}
	return low < index->seconds.len ? index->seconds.items[low].offset : f->end_offset;
}

uint64_t segment_file_written_until(const struct segment_file *f, uint64_t good_ns)
{
	const struct segment_index *index = &f->index;
	uint64_t now_ns = clock_real_ns(), up_ns = clock_boot_ns(), tick_ns = NS_PER_S;
	struct stat st;

	if (!good_ns || fstat(f->fd, &st) < 0)
		return now_ns;
	uint64_t written_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
	/* The power took the newest bytes and times with it: only a file of this boot holds all
	 * that was written. Writes through a mapping may leave its time behind its frames. */
	if (written_ns + up_ns < now_ns)
		return now_ns;
	/* what the next write would have brought was still in memory */
	if (index->seconds.len > 1)
		tick_ns = MAX_OF(tick_ns,
				 index->seconds.items[index->seconds.len - 1].time_ns -
					 index->seconds.items[index->seconds.len - 2].time_ns);
	return MIN_OF(MAX_OF(written_ns, good_ns) + tick_ns, now_ns);
}

const char *segment_file_tell_empty(const struct segment_file *f)
{
	struct stat st;

	return fstat(f->fd, &st) == 0 && st.st_size == 0 ? "the file has no bytes"
							 : "no intact frame in it";
}

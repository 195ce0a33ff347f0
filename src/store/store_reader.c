#include "store_reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "store_dir.h"
#include "store_gap.h"
#include "store_reader_impl.h"
#include "text.h"
#include "timefmt.h"
#include "wire.h"

#define READER_SLACK_NS   (SEGMENT_SLACK_S * NS_PER_S)
#define READER_SEGMENT_NS (60 * NS_PER_S) /* what a cut-off segment may have held */

enum {
	READER_MOST_LOSSES = 1000,
	READER_GAP_SEGMENTS = 64, /* so far behind an empty window its gap marker is looked for */
};

int store_reader_list(struct store_reader *r, struct err *err)
{
	struct stat st;

	if (fstat(r->dir_fd, &st) < 0)
		return err_path(err, -errno, r->dir);
	if (st.st_mtim.tv_sec == r->listed.tv_sec && st.st_mtim.tv_nsec == r->listed.tv_nsec)
		return 0;
	r->listed = st.st_mtim;
	return store_dir_list(r->dir_fd, r->dir, false, &r->segments, err);
}

int store_reader_open(const char *dir, struct store_reader **ret, struct err *err)
{
	struct store_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->file.fd = -1;
	text_copy(r->dir, sizeof(r->dir), dir);
	r->zstd = ZSTD_createDCtx();
	int code = r->dir_fd = store_dir_open_reader(dir, err);
	if (code >= 0)
		code = r->zstd ? store_reader_list(r, err) : err_set(err, -ENOMEM, "out of memory");
	if (code < 0) {
		store_reader_close(r);
		return code;
	}
	r->to_ns = UINT64_MAX;
	r->kinds = FRAME_ALL;
	*ret = r;
	return 0;
}

void store_reader_close(struct store_reader *r)
{
	if (!r)
		return;
	if (r->dir_fd >= 0)
		close(r->dir_fd);
	segment_file_free(&r->file);
	vec_free(&r->segments.list);
	vec_free(&r->losses.list);
	buf_free(&r->payload);
	ZSTD_freeDCtx(r->zstd);
	free(r);
}

const struct store_losses *store_reader_losses(const struct store_reader *r)
{
	return &r->losses;
}

/* Once per text, and only when it touches the window. */
__attribute__((format(printf, 4, 5))) static void
reader_lose(struct store_reader *r, uint64_t from_ns, uint64_t to_ns, const char *format, ...)
{
	struct store_loss loss = { .from_ns = from_ns, .to_ns = to_ns };
	va_list args;

	if ((to_ns && to_ns <= r->from_ns) || (from_ns && from_ns >= r->to_ns))
		return;
	va_start(args, format);
	vsnprintf(loss.why, sizeof(loss.why), format, args);
	va_end(args);
	vec_foreach (&r->losses.list, old)
		if (strcmp(old->why, loss.why) == 0)
			return;
	if (r->losses.list.len < READER_MOST_LOSSES)
		(void)vec_push(&r->losses.list, loss);
}

void store_reader_add_loss(struct store_reader *r, uint64_t from_ns, uint64_t to_ns,
			   const char *what)
{
	char name[SEGMENT_NAME_MAX];

	segment_name_print(name, &r->file.name);
	reader_lose(r, from_ns, to_ns, "%s: %s", name, what);
}

int store_reader_seek(struct store_reader *r, uint64_t from_ns, uint64_t to_ns, uint32_t kinds,
		      struct err *err)
{
	r->from_ns = from_ns;
	r->to_ns = to_ns;
	r->kinds = kinds;
	r->every_s = 0;
	r->delivered = r->gaps_sought = false;
	r->losses.list.len = 0;
	r->open = false;
	r->next_start_ns = from_ns > SEGMENT_MOST_NS ? from_ns - SEGMENT_MOST_NS : 0;
	return store_reader_list(r, err);
}

void store_reader_thin(struct store_reader *r, unsigned every_s)
{
	r->every_s = every_s;
}

/* Make the segment the present one; 0 = it has nothing for the window. */
static int reader_enter(struct store_reader *r, const struct segment_name *name, struct err *err)
{
	struct segment_file *f = &r->file;
	int code = segment_file_open(f, r->dir_fd, name, r->zstd, &r->payload, err);

	if (code == -ENOENT || code == -ENOMEM)
		return code == -ENOENT ? 0 : code;
	if (code < 0) {
		reader_lose(r, name->start_ns, name->start_ns + READER_SEGMENT_NS, "%s",
			    err ? err->text : "a segment cannot be read");
		return 0;
	}
	if (f->sealed && (f->index.to_ns + READER_SLACK_NS <= r->from_ns ||
			  !(f->index.kinds & (r->kinds | FRAME_BIT(FRAME_GAP)))))
		return 0;
	r->offset = SEGMENT_MAGIC_BYTES;
	if (f->sealed) {
		r->offset = segment_file_offset_before(f, r->from_ns);
		uint64_t end = MAX_OF(segment_file_offset_after(f, r->to_ns), r->offset);
		code = segment_file_load(f, r->offset, end, err);
		if (code < 0)
			return code;
	}
	r->open = true;
	r->next_dict = 0;
	r->dict_end = f->index.dicts.len ? f->index.dicts.items[f->index.dicts.len - 1].offset : 0;
	r->good_ns = 0;
	return 1;
}

static bool reader_is_newest(const struct store_reader *r)
{
	const struct store_segments *s = &r->segments;

	return s->list.len && s->list.items[s->list.len - 1].name.start_ns == r->file.name.start_ns;
}

/* Where the next segment begins and when the file was last written; bounds what a cut-off one may
 * have held. */
static uint64_t reader_cut_until(const struct store_reader *r)
{
	size_t at = store_segments_after(&r->segments, r->file.name.start_ns);
	uint64_t most = MIN_OF(r->file.name.start_ns + READER_SEGMENT_NS,
			       segment_file_written_until(&r->file, r->good_ns));

	if (at < r->segments.list.len)
		most = MIN_OF(most, r->segments.list.items[at].name.start_ns);
	return MAX_OF(most, r->good_ns + 1);
}

/* The second in which the bytes there were written. */
static uint64_t reader_second_of(const struct store_reader *r, uint64_t offset)
{
	uint64_t time_ns = r->file.name.start_ns;

	vec_foreach (&r->file.index.seconds, second)
		if (second->offset < offset)
			time_ns = second->time_ns;
	return time_ns;
}

static void reader_lose_place(struct store_reader *r, uint64_t offset, uint64_t from_ns,
			      uint64_t to_ns, const char *what)
{
	char name[SEGMENT_NAME_MAX];

	segment_name_print(name, &r->file.name);
	reader_lose(r, from_ns, to_ns, "%s: byte %" PRIu64 ": %s", name, offset, what);
}

/* What lay between the last intact frame and to_ns. */
static void reader_lose_bytes(struct store_reader *r, uint64_t offset, uint64_t to_ns,
			      const char *what)
{
	uint64_t from_ns = r->good_ns ? r->good_ns : reader_second_of(r, offset);

	reader_lose_place(r, offset, from_ns, to_ns, what);
}

/* A dictionary frame by its offset, wherever it lies. 1 = *ret is it. */
static int reader_read_dict(struct store_reader *r, const struct segment_dict *dict,
			    struct frame_head *ret, struct buf *bytes)
{
	struct segment_file *f = &r->file;
	ssize_t n, size;

	buf_clear(bytes);
	if (!buf_reserve(bytes, FRAME_HEAD_MOST))
		return 0;
	n = pread(f->fd, bytes->data, FRAME_HEAD_MOST, (off_t)dict->offset);
	size = n > 0 ? frame_wire_size(bytes->data, (size_t)n) : -1;
	if (size < 0 || !buf_reserve(bytes, (size_t)size))
		return 0;
	n = pread(f->fd, bytes->data, (size_t)size, (off_t)dict->offset);
	return n > 0 && frame_wire_get(bytes->data, (size_t)n, &f->name, ret) > 0 &&
	       ret->kind == dict->kind;
}

/* A key is written twice, seconds apart, so that no one damaged place costs a whole segment. */
static bool reader_has_copy(struct store_reader *r, const struct segment_dict *lost)
{
	AUTO_BUF struct buf bytes = { 0 };
	struct frame_head head;

	if (lost->kind != FRAME_KEY)
		return false;
	vec_foreach (&r->file.index.dicts, dict)
		if (dict->kind == lost->kind && dict->offset != lost->offset &&
		    reader_read_dict(r, dict, &head, &bytes))
			return true;
	return false;
}

/* A damaged frame that others of the segment need, where its kind is asked for: a key costs all
 * ticks of the segment, stacks what follows them. */
static void reader_lose_dict(struct store_reader *r, const struct segment_dict *dict)
{
	uint64_t begin_ns = r->file.name.start_ns, end_ns = r->file.index.to_ns;
	uint64_t at_ns = reader_second_of(r, dict->offset);

	if (!(r->kinds & FRAME_BIT(dict->kind)))
		return;
	if (dict->kind == FRAME_META)
		reader_lose_place(r, dict->offset, at_ns, at_ns,
				  "checksum of what describes the host; no reading is lost by it");
	else if (reader_has_copy(r, dict))
		reader_lose_place(
			r, dict->offset, at_ns, at_ns,
			"checksum of a key frame; nothing is lost by it, its copy serves");
	else if (dict->kind == FRAME_KEY)
		reader_lose_place(r, dict->offset, begin_ns, MAX_OF(end_ns, begin_ns + 1),
				  "checksum of a key frame");
	else
		reader_lose_place(r, dict->offset, at_ns, MAX_OF(end_ns, at_ns + 1),
				  "checksum of a frame of stacks");
}

static int reader_give(struct store_reader *r, const struct frame_head *head, struct frame *ret)
{
	size_t len;
	const void *payload;

	if (segment_file_payload(head, r->zstd, &r->payload, &payload, &len) < 0)
		return 0;
	*ret = (struct frame){
		.kind = head->kind,
		.version = head->version,
		.time_ns = head->time_ns,
		.segment = r->file.name.start_ns,
		.payload = payload,
		.len = len,
	};
	return 1;
}

/* The next dictionary or key of the present segment that is asked for. */
static int reader_next_dict(struct store_reader *r, struct frame *ret)
{
	struct segment_index *index = &r->file.index;
	struct frame_head head;

	while (r->next_dict < index->dicts.len) {
		const struct segment_dict *dict = &index->dicts.items[r->next_dict++];
		AUTO_BUF struct buf bytes = { 0 };
		if (!(r->kinds & FRAME_BIT(dict->kind)))
			continue;
		if (!reader_read_dict(r, dict, &head, &bytes)) {
			reader_lose_dict(r, dict);
			continue;
		}
		if (!head.zstd) { /* outlives bytes */
			buf_clear(&r->payload);
			buf_add(&r->payload, head.stored, head.stored_len);
			head.stored = r->payload.data;
		}
		if (reader_give(r, &head, ret))
			return 1;
	}
	return 0;
}

static void reader_note_gap(struct store_reader *r, const struct frame_head *head)
{
	struct store_gap gap;
	const void *payload;
	size_t len;

	if (segment_file_payload(head, r->zstd, &r->payload, &payload, &len) == 0 &&
	    store_gap_decode(payload, len, &gap) == 0)
		reader_lose(r, gap.from_ns, gap.to_ns, "not recorded: %s", gap.why);
}

static const struct segment_dict *reader_dict_at(const struct store_reader *r, uint64_t offset)
{
	vec_foreach (&r->file.index.dicts, dict)
		if (dict->offset == offset)
			return dict;
	return NULL;
}

/* No intact frame begins at r->offset, the next one does at `next`, to_ns. */
static void reader_lose_frame(struct store_reader *r, uint64_t next, uint64_t to_ns)
{
	const struct segment_file *f = &r->file;
	const struct segment_dict *dict = reader_dict_at(r, r->offset);
	size_t at = (size_t)(r->offset - f->base);

	if (dict)
		reader_lose_dict(r, dict);
	/* damage that reaches beyond that one frame costs others, too */
	if (!dict ||
	    frame_wire_size(f->bytes.data + at, f->bytes.len - at) != (ssize_t)(next - r->offset))
		reader_lose_bytes(r, r->offset, MAX_OF(to_ns, r->good_ns + 1),
				  "checksum of a frame");
}

/* The intact frame at or after r->offset; damage on the way is noted. 0 = no more bytes. */
static int reader_walk(struct store_reader *r, struct frame_head *ret)
{
	struct segment_file *f = &r->file;
	size_t at = (size_t)(r->offset - f->base);

	if (at >= f->bytes.len)
		return 0;
	ssize_t n = frame_wire_get(f->bytes.data + at, f->bytes.len - at, &f->name, ret);
	/* in a segment that is being written an unfinished frame may have been finished meanwhile
	 */
	if (n < 0 && !f->sealed && segment_file_load_more(f, r->offset, NULL) > 0)
		n = frame_wire_get(f->bytes.data + at, f->bytes.len - at, &f->name, ret);
	if (n < 0) {
		size_t next =
			frame_wire_find(f->bytes.data, f->bytes.len, at + 1, &f->name, &f->budget);
		if (next == f->bytes.len && !f->sealed)
			return 0; /* a torn tail, or one that is just being written */
		uint64_t to_ns = f->index.to_ns;
		if (next < f->bytes.len) {
			n = frame_wire_get(f->bytes.data + next, f->bytes.len - next, &f->name,
					   ret);
			to_ns = ret->time_ns;
		}
		reader_lose_frame(r, f->base + next, to_ns);
		r->offset = f->base + next;
		if (next == f->bytes.len)
			return 0;
	}
	r->frame = r->offset;
	r->offset += (uint64_t)n;
	r->good_ns = ret->time_ns;
	return 1;
}

/* Whether the walked frame is to be given to the caller. */
static bool reader_wants(const struct store_reader *r, const struct frame_head *head,
			 uint64_t offset)
{
	if (head->kind >= FRAME_KIND_END || !(r->kinds & FRAME_BIT(head->kind)) ||
	    head->kind == FRAME_FOOTER || head->kind == FRAME_SEGMENT)
		return false;
	if (segment_is_dict(head->kind))
		return offset > r->dict_end;
	if (r->every_s && head->kind == FRAME_PROFILE && head->time_ns / NS_PER_S % r->every_s)
		return false;
	return head->time_ns >= r->from_ns && head->time_ns < r->to_ns;
}

/* All bytes of the present segment are used. 1 = more came meanwhile, 0 = wait, -1 = done with it.
 */
static int reader_end_of_bytes(struct store_reader *r, struct err *err)
{
	struct segment_file *f = &r->file;
	char what[100];

	if (f->sealed)
		return -1;
	if (segment_file_load_more(f, r->offset, NULL) > 0)
		return 1;
	if (store_reader_list(r, err) < 0)
		return -1;
	if (reader_is_newest(r) && store_dir_is_locked(r->dir_fd))
		return 0;
	if (segment_file_load_more(f, r->offset, NULL) > 0) /* between the two looks */
		return 1;
	uint64_t end = f->base + f->bytes.len;
	while (end > r->offset && f->bytes.data[end - f->base - 1] == '\0') /* room never used */
		end--;
	uint64_t torn = end - MIN_OF(end, r->offset);
	int n = snprintf(what, sizeof(what), "%s",
			 r->good_ns ? "cut off without its footer; at most this is missing"
				    : segment_file_tell_empty(f));
	if (r->good_ns && torn)
		snprintf(what + n, sizeof(what) - (size_t)n, ", %" PRIu64 " bytes torn", torn);
	reader_lose_bytes(r, MIN_OF(end, r->offset), reader_cut_until(r), what);
	return -1;
}

/* The next wanted frame of the present segment; 0 = end of bytes, -1 = done with the segment. */
static int reader_next_frame(struct store_reader *r, struct frame *ret)
{
	struct frame_head head;

	if (reader_next_dict(r, ret))
		return 1;
	for (;;) {
		if (!reader_walk(r, &head))
			return 0;
		uint64_t offset = r->frame;
		if (head.kind == FRAME_FOOTER)
			return -1;
		if (head.kind == FRAME_CLOCK && head.time_ns >= READER_SLACK_NS &&
		    head.time_ns - READER_SLACK_NS >= r->to_ns)
			return -1;
		if (head.kind == FRAME_GAP)
			reader_note_gap(r, &head);
		if (!reader_wants(r, &head, offset))
			continue;
		if (reader_give(r, &head, ret))
			return 1;
		reader_lose_bytes(r, offset, head.time_ns + 1, "a frame does not decompress");
	}
}

/* The gap marker of a window without data stands where recording resumed. */
static void reader_seek_gaps(struct store_reader *r)
{
	size_t at = store_segments_after(&r->segments, r->to_ns);
	size_t end = MIN_OF(at + READER_GAP_SEGMENTS, r->segments.list.len);
	struct frame_head head;

	if (r->delivered || r->gaps_sought)
		return;
	r->gaps_sought = true;
	for (; at < end; at++) {
		struct segment_file *f = &r->file;
		if (segment_file_open(f, r->dir_fd, &r->segments.list.items[at].name, r->zstd,
				      &r->payload, NULL) < 0 ||
		    !(f->index.kinds & FRAME_BIT(FRAME_GAP)))
			continue;
		r->offset = SEGMENT_MAGIC_BYTES;
		if (f->sealed && segment_file_load(f, r->offset, f->end_offset, NULL) < 0)
			continue;
		while (reader_walk(r, &head))
			if (head.kind == FRAME_GAP)
				reader_note_gap(r, &head);
		break;
	}
}

/* Enter the next segment of the window; 0 = there is none. */
static int reader_advance(struct store_reader *r, struct err *err)
{
	for (int pass = 0; pass < 2; pass++) {
		size_t at = r->next_start_ns
				    ? store_segments_after(&r->segments, r->next_start_ns - 1)
				    : 0;
		for (; at < r->segments.list.len; at++) {
			const struct segment_name name = r->segments.list.items[at].name;
			if (r->to_ns <= name.start_ns &&
			    name.start_ns - r->to_ns >= READER_SLACK_NS)
				break;
			r->next_start_ns = name.start_ns + 1;
			int code = reader_enter(r, &name, err);
			if (code != 0)
				return code;
		}
		int code = store_reader_list(r, err); /* a new segment may have begun */
		if (code < 0)
			return code;
	}
	reader_seek_gaps(r);
	return 0;
}

int store_reader_next(struct store_reader *r, struct frame *ret, struct err *err)
{
	for (;;) {
		if (!r->open) {
			int code = reader_advance(r, err);
			if (code <= 0)
				return code;
		}
		int got = reader_next_frame(r, ret);
		if (got > 0) {
			r->delivered = true;
			return 1;
		}
		int more = got < 0 ? -1 : reader_end_of_bytes(r, err);
		if (more == 0)
			return 0;
		if (more < 0)
			r->open = false;
	}
}

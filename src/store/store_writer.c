#include "store_writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <zstd.h>

#include "auto.h"
#include "frame_wire.h"
#include "store_queue.h"
#include "store_retain.h"
#include "store_sync.h"
#include "text.h"
#include "tick_path.h"
#include "timefmt.h"
#include "wire.h"

enum {
	WRITER_ZSTD_LEVEL = 3,
	WRITER_ZSTD_LEAST = 64,          /* shorter payloads stay as they are */
	WRITER_ZSTD_LEAST_TICK = 2048,   /* ticks are dense already: only long ones may gain */
	WRITER_SEGMENT_BYTES = 64 << 20, /* a segment is closed early when it is that long */
	WRITER_BUFFER_BYTES = 256 << 10, /* made ready before memory gets locked */
	WRITER_CLOSE_WAIT_MS = 700,
};

#define WRITER_STEP_NS    (NS_PER_S / 2) /* a wall clock that moved further was set */
#define WRITER_SLACK_NS   (SEGMENT_SLACK_S * NS_PER_S)
#define WRITER_RING_BYTES (UINT64_C(8) << 20)

struct store_writer {
	int dir_fd, lock_fd;
	struct store_hooks hooks;
	uint64_t segment_ns, sync_ns;
	struct store_retain retain;
	struct store_queue queue;
	struct store_sync *sync;
	struct segment_index index;   /* of the present segment */
	struct store_clock clock;     /* of the last tick */
	struct store_clock start;     /* of the present segment */
	uint64_t synced_ns, asked_ns; /* wall clock of the last good and the last asked sync */
	uint64_t asked_mono_ns;
	uint64_t named_ns; /* start of the segment whose name is on disk */
	bool sync_failed, sync_soon, finished;
	ZSTD_CCtx *zstd;
	struct buf compressed, scratch;
	char dir[4096];
};

const struct store_clock *store_writer_clock(const struct store_writer *w)
{
	return &w->clock;
}

EVERY_TICK const char *store_writer_degraded(const struct store_writer *w)
{
	return w->queue.degraded[0] ? w->queue.degraded : NULL;
}

EVERY_TICK uint64_t store_writer_lost_frames(const struct store_writer *w)
{
	return w->queue.lost_frames;
}

EVERY_TICK const struct store_dropped *store_writer_dropped(const struct store_writer *w)
{
	return &w->retain.dropped;
}

EVERY_TICK uint64_t store_writer_bytes(const struct store_writer *w)
{
	return w->retain.total_bytes;
}

int store_writer_pin(struct store_writer *w, uint64_t from_ns, uint64_t to_ns, struct err *err)
{
	int r = store_retain_pin(&w->retain, from_ns, to_ns);
	return r < 0 ? err_set(err, r, "cannot pin a segment: %s", strerror(-r)) : 0;
}

int store_writer_footer_blob(struct store_writer *w, enum footer_kind kind, const void *bytes,
			     size_t len, struct err *err)
{
	if (len > FRAME_MOST_BYTES / 4)
		return err_set(err, -E2BIG, "footer blob %d has %zu bytes", kind, len);
	if (!segment_index_put_blob(&w->index, kind, bytes, len))
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* The payload in its smaller form. */
EVERY_TICK static void writer_compress(struct store_writer *w, struct frame_head *head)
{
	bool dense = head->kind == FRAME_TICK || head->kind == FRAME_KEY;
	if (head->stored_len < (dense ? WRITER_ZSTD_LEAST_TICK : WRITER_ZSTD_LEAST))
		return;
	size_t bound = ZSTD_compressBound(head->stored_len);
	buf_clear(&w->compressed);
	if (!buf_reserve(&w->compressed, bound))
		return;
	size_t n = ZSTD_compressCCtx(w->zstd, w->compressed.data, bound, head->stored,
				     head->stored_len, WRITER_ZSTD_LEVEL);
	if (ZSTD_isError(n) || n >= head->stored_len)
		return;
	head->stored = w->compressed.data;
	head->stored_len = (uint32_t)n;
	head->zstd = true;
}

EVERY_TICK int store_writer_append(struct store_writer *w, enum frame_kind kind, unsigned version,
				   uint64_t time_ns, const void *payload, size_t len,
				   struct err *err)
{
	struct store_queued *s = store_queue_last(&w->queue);
	struct frame_head head = {
		.kind = kind, .version = version, .stored = payload, .stored_len = (uint32_t)len
	};

	if (len > FRAME_MOST_BYTES)
		return err_set(err, -E2BIG, "a frame of %zu bytes is too long", len);
	if (!s) {
		w->queue.lost_frames++;
		return 0;
	}
	if (time_ns + WRITER_SLACK_NS < w->clock.real_ns ||
	    time_ns > w->clock.real_ns + WRITER_SLACK_NS)
		time_ns = w->clock.real_ns;
	head.time_ns = time_ns;
	writer_compress(w, &head);
	size_t before = s->pending.len;
	frame_wire_put(&s->pending, &s->name, &head);
	if (s->pending.failed) {
		s->pending.failed = false;
		s->pending.len = before;
		w->queue.lost_frames++;
		return err_set(err, -ENOMEM, "out of memory");
	}
	segment_index_add(&w->index, kind, time_ns, s->len);
	store_queue_added(&w->queue, time_ns, s->pending.len - before);
	return 0;
}

/* The first frame: the clocks as they are. */
static void writer_put_start(struct store_writer *w)
{
	const struct store_clock *c = &w->clock;

	buf_clear(&w->scratch);
	wire_put_u64(&w->scratch, c->mono_ns);
	wire_put_u64(&w->scratch, c->boot_ns);
	wire_put_bytes(&w->scratch, c->boot_id, strlen(c->boot_id));
	store_writer_append(w, FRAME_SEGMENT, 1, c->real_ns, w->scratch.data, w->scratch.len, NULL);
	w->index.start_mono_ns = c->mono_ns;
	w->index.start_boot_ns = c->boot_ns;
}

/* An anchor: how far the other clocks strayed from the wall clock since the start. */
EVERY_TICK static void writer_put_clock(struct store_writer *w)
{
	const struct store_clock *c = &w->clock;
	uint64_t passed = c->real_ns - w->start.real_ns;

	buf_clear(&w->scratch);
	wire_put_i64(&w->scratch, (int64_t)(c->mono_ns - w->start.mono_ns - passed));
	wire_put_i64(&w->scratch, (int64_t)(c->boot_ns - w->start.boot_ns - passed));
	store_writer_append(w, FRAME_CLOCK, 1, c->real_ns, w->scratch.data, w->scratch.len, NULL);
}

RARELY static int writer_begin(struct store_writer *w, struct err *err)
{
	struct segment_name name = { .start_ns = w->clock.real_ns };

	if (getrandom(&name.salt, sizeof(name.salt), GRND_NONBLOCK) != sizeof(name.salt))
		name.salt = (uint32_t)(w->clock.mono_ns ^ w->clock.real_ns * 2654435761U);
	struct store_queued *s = store_queue_push(&w->queue, &name);
	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	buf_add(&s->pending, segment_magic, SEGMENT_MAGIC_BYTES);
	s->len = SEGMENT_MAGIC_BYTES;
	segment_index_clear(&w->index);
	text_copy(w->index.boot_id, sizeof(w->index.boot_id), w->clock.boot_id);
	w->start = w->clock;
	writer_put_start(w);
	writer_put_clock(w);
	return w->hooks.begin ? w->hooks.begin(w->hooks.arg, w, err) : 0;
}

EVERY_TICK static void writer_put_gap(struct store_writer *w)
{
	struct store_gap *gap = &w->queue.gap;

	if (!gap->frames || w->queue.degraded[0])
		return;
	buf_clear(&w->scratch);
	store_gap_encode(&w->scratch, gap);
	store_writer_append(w, FRAME_GAP, 1, w->clock.real_ns, w->scratch.data, w->scratch.len,
			    NULL);
	*gap = (struct store_gap){ 0 };
}

RARELY static void writer_seal(struct store_writer *w)
{
	struct store_queued *s = store_queue_last(&w->queue);
	struct err ignored;

	if (!s)
		return;
	if (w->hooks.end)
		w->hooks.end(w->hooks.arg, w, &ignored);
	writer_put_gap(w);
	uint64_t offset = s->len;
	buf_clear(&w->scratch);
	segment_footer_encode(&w->scratch, &w->index);
	store_writer_append(w, FRAME_FOOTER, 1, w->clock.real_ns, w->scratch.data, w->scratch.len,
			    NULL);
	size_t before = s->pending.len;
	segment_end_put(&s->pending, s->name.salt, offset);
	s->len += s->pending.len - before;
	s->sealed = true;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* In words, here: five of them are not worth a page of another library in every tick. */
EVERY_TICK static bool same_boot(const struct store_clock *a, const struct store_clock *b)
{
	uint64_t different = 0;

	for (size_t i = 0; i < sizeof(a->boot_id); i += sizeof(uint64_t)) {
		uint64_t x, y;
		memcpy(&x, a->boot_id + i, sizeof(x));
		memcpy(&y, b->boot_id + i, sizeof(y));
		different |= x ^ y;
	}
	return !different;
}

/* A segment holds one stretch of one clock, so that its name and its index can be trusted. */
EVERY_TICK static bool writer_is_due(const struct store_writer *w, const struct store_clock *now)
{
	const struct store_queued *s = store_queue_last(&w->queue);

	if (!s || w->sync_failed || s->len >= WRITER_SEGMENT_BYTES)
		return true;
	if (now->boot_ns < w->start.boot_ns || now->boot_ns - w->start.boot_ns >= w->segment_ns)
		return true;
	if (!same_boot(now, &w->start))
		return true;
	uint64_t wall = now->real_ns - w->clock.real_ns, boot = now->boot_ns - w->clock.boot_ns;
	return now->real_ns < w->clock.real_ns || distance(wall, boot) > WRITER_STEP_NS;
}

/* After a failed fsync the kernel has forgotten the lost pages: nothing may be appended behind
 * them, and what was written since the last good one may be gone. */
EVERY_TICK static void writer_check_sync(struct store_writer *w)
{
	bool idle = store_sync_wait(w->sync, 0); /* first: what it found may be a failure */
	int r = store_sync_result(w->sync);
	char why[120];

	if (r == 0) {
		if (w->asked_ns && idle)
			w->synced_ns = w->asked_ns;
		return;
	}
	snprintf(why, sizeof(why), "the disk failed to keep it (fdatasync: %s)", strerror(-r));
	store_queue_lost(&w->queue, w->synced_ns ? w->synced_ns : w->start.real_ns,
			 w->clock.real_ns, why);
	w->sync_failed = true;
	w->asked_ns = 0;
}

EVERY_TICK static void writer_ask_sync(struct store_writer *w, bool now)
{
	struct store_queued *s = w->queue.list.len ? w->queue.list.items[0] : NULL;

	if (!s || s->tail.fd < 0 || (!now && w->clock.mono_ns - w->asked_mono_ns < w->sync_ns))
		return;
	int dir_fd = s->name.start_ns == w->named_ns ? -1 : w->dir_fd;
	if (store_sync_request(w->sync, s->tail.fd, dir_fd)) {
		w->asked_mono_ns = w->clock.mono_ns;
		w->asked_ns = w->clock.real_ns;
		w->named_ns = s->name.start_ns;
		w->sync_soon = false;
	}
}

void store_writer_sync_soon(struct store_writer *w)
{
	w->sync_soon = true;
}

EVERY_TICK void store_writer_flush(struct store_writer *w)
{
	store_queue_flush(&w->queue);
	if (w->sync_soon)
		writer_ask_sync(w, true);
}

EVERY_TICK int store_writer_tick(struct store_writer *w, const struct store_clock *clock,
				 struct err *err)
{
	int r = 0;

	store_queue_flush(&w->queue);
	writer_check_sync(w);
	if (writer_is_due(w, clock)) {
		if (w->sync_failed && store_queue_last(&w->queue))
			store_queue_last(&w->queue)->broken = true;
		else
			writer_seal(w);
		w->sync_failed = false;
		writer_ask_sync(w, true);
		w->clock = *clock;
		r = writer_begin(w, err);
		store_queue_flush(&w->queue);
		store_retain_apply(&w->retain, clock->real_ns);
	} else {
		w->clock = *clock;
		writer_put_clock(w);
	}
	writer_put_gap(w);
	writer_ask_sync(w, false);
	return r;
}

static int writer_prepare(struct store_writer *w, const struct store_options *options,
			  struct err *err)
{
	w->segment_ns = options->segment_ns ? options->segment_ns : 60 * NS_PER_S;
	w->segment_ns = MIN_OF(w->segment_ns, SEGMENT_MOST_NS);
	w->sync_ns = options->sync_ns ? options->sync_ns : 10 * NS_PER_S;
	w->retain.max_bytes = options->max_bytes;
	w->retain.max_age_ns = options->max_age_ns;
	w->queue.most_bytes = options->ring_bytes ? options->ring_bytes : WRITER_RING_BYTES;
	w->queue.retain = &w->retain;
	w->queue.dir_fd = w->retain.dir_fd = w->dir_fd;
	w->zstd = ZSTD_createCCtx();
	w->sync = store_sync_new();
	if (!w->zstd || !buf_reserve(&w->queue.spare, WRITER_BUFFER_BYTES) ||
	    !buf_reserve(&w->compressed, WRITER_BUFFER_BYTES) ||
	    !vec_reserve(&w->index.seconds, 128))
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

int store_writer_open(const char *dir, const struct store_options *options,
		      const struct store_hooks *hooks, struct store_writer **ret, struct err *err)
{
	static const struct store_options defaults;
	struct store_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	w->lock_fd = -1;
	if (hooks)
		w->hooks = *hooks;
	text_copy(w->dir, sizeof(w->dir), dir);
	int r = w->dir_fd = store_dir_open_writer(dir, err);
	if (r >= 0)
		r = w->lock_fd = store_dir_lock(w->dir_fd, dir, err);
	if (r >= 0)
		r = writer_prepare(w, options ? options : &defaults, err);
	if (r >= 0)
		r = store_retain_open(&w->retain, dir, err);
	if (r < 0) {
		store_writer_close(w);
		return r;
	}
	*ret = w;
	return 0;
}

static void writer_tell_end(const struct store_writer *w, struct store_end *ret)
{
	const struct store_queue *q = &w->queue;
	uint64_t from_ns = q->gap.frames ? q->gap.from_ns : UINT64_MAX;

	*ret = (struct store_end){ .written_bytes = q->written_bytes,
				   .dropped_frames = q->lost_frames - q->sync_lost };
	text_copy_n(ret->why, sizeof(ret->why), q->degraded, strcspn(q->degraded, ";"));
	vec_foreach (&q->list, s)
		if ((*s)->pending_frames)
			from_ns = MIN_OF(from_ns, (*s)->from_ns);
	/* the last tick is one of them */
	if (from_ns <= w->clock.real_ns)
		ret->unwritten_ns = w->clock.real_ns - from_ns + 1;
}

void store_writer_finish(struct store_writer *w, struct store_end *ret)
{
	if (w->zstd)
		writer_seal(w);
	if (w->queue.list.len) {
		struct store_queued *last = w->queue.list.items[w->queue.list.len - 1];
		int fd = last->tail.fd >= 0 ? fcntl(last->tail.fd, F_DUPFD_CLOEXEC, 3) : -1;
		store_queue_flush(&w->queue);
		store_sync_wait(w->sync, WRITER_CLOSE_WAIT_MS / 2 * NS_PER_MS);
		if (fd >= 0) {
			store_sync_request(w->sync, fd, w->dir_fd);
			close(fd);
		}
		store_sync_wait(w->sync, WRITER_CLOSE_WAIT_MS / 2 * NS_PER_MS);
	}
	w->finished = true;
	writer_tell_end(w, ret);
}

void store_writer_close(struct store_writer *w)
{
	struct store_end ignored;

	if (!w)
		return;
	if (!w->finished)
		store_writer_finish(w, &ignored);
	store_sync_free(w->sync);
	store_queue_free(&w->queue);
	store_retain_close(&w->retain);
	segment_index_free(&w->index);
	buf_free(&w->compressed);
	buf_free(&w->scratch);
	ZSTD_freeCCtx(w->zstd);
	if (w->lock_fd >= 0)
		close(w->lock_fd);
	if (w->dir_fd >= 0)
		close(w->dir_fd);
	free(w);
}

const char *store_writer_dir(const struct store_writer *w)
{
	return w->dir;
}

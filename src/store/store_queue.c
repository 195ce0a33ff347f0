#include "store_queue.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "text.h"
#include "tick_path.h"

static void queued_free(struct store_queued *s)
{
	store_tail_close(&s->tail);
	buf_free(&s->pending);
	free(s);
}

void store_queue_free(struct store_queue *q)
{
	vec_foreach (&q->list, s)
		queued_free(*s);
	vec_free(&q->list);
	buf_free(&q->spare);
}

struct store_queued *store_queue_push(struct store_queue *q, const struct segment_name *name)
{
	struct store_queued *s = calloc(1, sizeof(*s));

	if (!s || !vec_push(&q->list, s)) {
		free(s);
		return NULL;
	}
	*s = (struct store_queued){ .name = *name, .tail = { .fd = -1 }, .pending = q->spare };
	q->spare = (struct buf){ 0 };
	store_retain_add(q->retain, name);
	return s;
}

EVERY_TICK struct store_queued *store_queue_last(const struct store_queue *q)
{
	struct store_queued *s = q->list.len ? q->list.items[q->list.len - 1] : NULL;
	return s && !s->sealed && !s->broken ? s : NULL;
}

EVERY_TICK void store_queue_added(struct store_queue *q, uint64_t time_ns, size_t bytes)
{
	struct store_queued *s = q->list.items[q->list.len - 1];

	s->len += bytes;
	if (!s->pending_frames++)
		s->from_ns = time_ns;
	s->to_ns = time_ns;
}

static void queue_remove_first(struct store_queue *q)
{
	struct store_queued *s = q->list.items[0];

	store_retain_seal(q->retain, &s->name);
	if (!q->spare.data) {
		buf_clear(&s->pending);
		q->spare = s->pending;
		s->pending = (struct buf){ 0 };
	}
	queued_free(s);
	memmove(q->list.items, q->list.items + 1, --q->list.len * sizeof(*q->list.items));
}

static void queue_note_gap(struct store_queue *q, uint64_t from_ns, uint64_t to_ns, uint64_t frames,
			   const char *why)
{
	if (!q->gap.frames || from_ns < q->gap.from_ns)
		q->gap.from_ns = from_ns;
	if (!q->gap.frames || to_ns > q->gap.to_ns)
		q->gap.to_ns = to_ns;
	q->gap.frames += frames;
	q->lost_frames += frames;
	text_copy(q->gap.why, sizeof(q->gap.why), why);
}

void store_queue_lost(struct store_queue *q, uint64_t from_ns, uint64_t to_ns, const char *why)
{
	queue_note_gap(q, from_ns, to_ns, 1, why);
	q->sync_lost++;
}

/* What was not taken is gone on with later, exactly where it ended. */
EVERY_TICK static int queued_write(struct store_queue *q, struct store_queued *s)
{
	char name[SEGMENT_NAME_MAX];
	size_t done = 0;
	int r = 0;

	if (s->tail.fd < 0) {
		segment_name_print(name, &s->name);
		r = store_tail_open(&s->tail, q->dir_fd, name);
	}
	if (r == 0)
		r = store_tail_put(&s->tail, s->pending.data, s->pending.len, &done);
	q->written_bytes += done;
	if (done)
		store_retain_grow(q->retain, &s->name, done);
	if (done == s->pending.len) {
		buf_clear(&s->pending);
		s->pending_frames = 0;
	} else if (done) {
		memmove(s->pending.data, s->pending.data + done, s->pending.len - done);
		s->pending.len -= done;
	}
	return r;
}

static bool is_full(int code)
{
	return code == -ENOSPC || code == -EDQUOT;
}

/* Whole segments fall out: what lies in memory of a newer one can be read alone. */
EVERY_TICK static void queue_bound(struct store_queue *q)
{
	uint64_t bytes = 0;

	vec_foreach (&q->list, s)
		bytes += (*s)->pending.len;
	while (bytes > q->most_bytes) {
		struct store_queued *s = q->list.items[0];
		bytes -= s->pending.len;
		queue_note_gap(q, s->from_ns, s->to_ns, s->pending_frames, q->degraded);
		if (q->list.len == 1) {
			buf_free(&s->pending); /* the memory too: this is when it is short */
			s->pending_frames = 0;
			s->broken = true;
			return;
		}
		queue_remove_first(q);
	}
}

EVERY_TICK void store_queue_flush(struct store_queue *q)
{
	int r = 0;

	while (q->list.len) {
		struct store_queued *s = q->list.items[0];
		r = s->broken || (s->tail.fd >= 0 && !s->pending.len) ? 0 : queued_write(q, s);
		if (is_full(r) && store_retain_make_room(q->retain))
			continue;
		if (r < 0 || (!s->sealed && !s->broken) || (s->broken && q->list.len == 1))
			break;
		queue_remove_first(q);
	}
	if (r < 0)
		snprintf(q->degraded, sizeof(q->degraded), "%s: %s; recording goes on in memory",
			 is_full(r) ? "the disk is full" : "the disk fails", strerror(-r));
	else
		q->degraded[0] = '\0';
	queue_bound(q);
}

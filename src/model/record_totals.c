#include "record_totals.h"

#include <errno.h>
#include <stdlib.h>

#include "auto.h"
#include "churn_summary.h"
#include "store_reader.h"
#include "tick_codec.h"
#include "timefmt.h"
#include "totals.h"

/* A snapshot is written at least every 10 min (the longest segment): the newest lies in there. */
static const uint64_t look_back_ns = 660 * NS_PER_S;

#define TOTALS_KINDS                                                             \
	(FRAME_BIT(FRAME_KEY) | FRAME_BIT(FRAME_TICK) | FRAME_BIT(FRAME_EVENT) | \
	 FRAME_BIT(FRAME_TOTALS) | FRAME_BIT(FRAME_CHURN))

struct record_totals_state {
	struct totals totals;
	struct tick_codec *codec;
	struct tick tick;
	uint64_t key_segment;
	uint64_t seen_ns; /* everything before it is counted; 0 = nothing yet */
	struct buf bytes;
};

static void totals_close(void *state)
{
	struct record_totals_state *s = state;

	totals_free(&s->totals);
	tick_codec_free(s->codec);
	tick_free(&s->tick);
	buf_free(&s->bytes);
	free(s);
}

static int totals_open(void **ret_state, const struct recorder_context *context, struct err *err)
{
	struct record_totals_state *s = calloc(1, sizeof(*s));

	(void)context;
	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->key_segment = UINT64_MAX;
	s->codec = tick_codec_new();
	if (!s->codec || !buf_reserve(&s->bytes, 64 << 10)) {
		totals_close(s);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret_state = s;
	return 0;
}

static void totals_feed(struct record_totals_state *s, const struct frame *frame, bool resume)
{
	struct arena arena = { 0 };
	struct rec_event event;

	if (frame->kind == FRAME_KEY &&
	    tick_codec_decode_key(s->codec, frame->payload, frame->len) == 0) {
		s->key_segment = frame->segment;
	} else if (frame->kind == FRAME_TOTALS && resume && frame->version == TOTALS_VERSION) {
		totals_decode(&s->totals, frame->payload, frame->len);
	} else if (frame->kind == FRAME_TICK && frame->segment == s->key_segment &&
		   tick_codec_decode(s->codec, frame->payload, frame->len, &s->tick) == 0) {
		totals_feed_tick(&s->totals, &s->tick);
	} else if (frame->kind == FRAME_EVENT &&
		   rec_event_decode(frame->payload, frame->len, &arena, &event) == 0) {
		totals_feed_event(&s->totals, &event);
	}
	if (frame->kind == FRAME_CHURN) {
		AUTO_CHURN_SUMMARY struct churn_summary churn = { 0 };
		if (churn_summary_decode(frame->payload, frame->len, &churn) == 0)
			totals_feed_churn(&s->totals, &churn);
	}
	arena_free(&arena);
}

/* Count what the store got since the last look. The first look of a new recorder takes the newest
 * snapshot of the one before and goes on from there. */
static int totals_catch_up(struct record_totals_state *s, const char *dir, uint64_t until_ns,
			   struct err *err)
{
	struct store_reader *reader = NULL;
	uint64_t from = s->seen_ns, first, last;
	bool resume = from == 0;
	struct frame frame;
	int r = store_reader_open(dir, &reader, err);

	if (r < 0)
		return r;
	if (resume && store_reader_span(reader, &first, &last, err) >= 0)
		from = last > look_back_ns ? last - look_back_ns : 0;
	r = store_reader_seek(reader, from, until_ns, TOTALS_KINDS, err);
	while (r >= 0 && (r = store_reader_next(reader, &frame, err)) > 0)
		if (frame.time_ns >= from || frame.kind == FRAME_KEY)
			totals_feed(s, &frame, resume);
	store_reader_close(reader);
	if (r >= 0)
		s->seen_ns = until_ns;
	return r;
}

static int totals_begin_segment(void *state, const struct store_clock *clock,
				struct store_writer *w, struct err *err)
{
	struct record_totals_state *s = state;
	int r = totals_catch_up(s, store_writer_dir(w), clock->real_ns, err);

	if (r < 0)
		return r;
	buf_clear(&s->bytes);
	totals_encode(&s->totals, &s->bytes);
	return store_writer_append(w, FRAME_TOTALS, TOTALS_VERSION, clock->real_ns, s->bytes.data,
				   s->bytes.len, err);
}

const struct recorder_part record_totals = {
	.name = "totals",
	.open = totals_open,
	.begin_segment = totals_begin_segment,
	.close = totals_close,
};

#include "stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "auto.h"
#include "meta_lines.h"
#include "tick_codec.h"
#include "timefmt.h"

enum { STREAM_LEAD_TICKS = 3 }; /* how many intervals old the tick before the window may be */
#define STREAM_MOST_INTERVAL_NS (61 * NS_PER_S) /* record --interval takes up to a minute */

struct stream {
	/* live */
	struct tick_source *source;
	uint64_t interval_ns;
	struct unknowns unknowns;
	struct store_losses no_losses;
	/* recorded */
	struct store_reader *reader;
	struct tick_codec *codec;
	uint64_t key_segment; /* whose key the codec holds; UINT64_MAX = none */
	bool have_lead, given_lead;
	struct frame held; /* came when the lead had to be given first */
	struct buf held_bytes;
	bool have_held;
	uint64_t tick_from_ns, tick_to_ns; /* of the ticks; that of the events is [from, to) */
	/* both */
	uint64_t from_ns, to_ns;
	unsigned what;
	struct tick tick;
	struct rec_event event;
	struct arena event_arena;
};

static struct stream *stream_new(void)
{
	struct stream *s = calloc(1, sizeof(*s));
	if (s) {
		s->to_ns = UINT64_MAX;
		s->what = STREAM_TICKS;
		s->key_segment = UINT64_MAX;
	}
	return s;
}

int stream_open_live(const struct root *root, const struct tick_source_options *options,
		     uint64_t interval_ns, struct stream **ret, struct err *err)
{
	struct stream *s = stream_new();

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->interval_ns = interval_ns ? interval_ns : NS_PER_S;
	int r = tick_source_open(root, options, &s->source, err);
	if (r < 0) {
		stream_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

int stream_open_store(const char *dir, struct stream **ret, struct err *err)
{
	struct stream *s = stream_new();

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->codec = tick_codec_new();
	int r = s->codec ? store_reader_open(dir, &s->reader, err)
			 : err_set(err, -ENOMEM, "out of memory");
	if (r < 0) {
		stream_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

void stream_close(struct stream *s)
{
	if (!s)
		return;
	tick_source_close(s->source);
	unknowns_free(&s->unknowns);
	store_reader_close(s->reader);
	tick_codec_free(s->codec);
	buf_free(&s->held_bytes);
	tick_free(&s->tick);
	arena_free(&s->event_arena);
	free(s);
}

struct store_reader *stream_store(struct stream *s)
{
	return s->reader;
}

const struct store_losses *stream_losses(const struct stream *s)
{
	return s->reader ? store_reader_losses(s->reader) : &s->no_losses;
}

const struct unknowns *stream_unknowns(const struct stream *s)
{
	return s->source ? &s->unknowns : NULL;
}

int stream_span(struct stream *s, uint64_t *ret_from_ns, uint64_t *ret_to_ns, struct err *err)
{
	if (s->reader)
		return store_reader_span(s->reader, ret_from_ns, ret_to_ns, err);
	*ret_from_ns = clock_real_ns();
	*ret_to_ns = UINT64_MAX;
	return 0;
}

/* What the recorder wrote down of its interval in a window; 0 = nothing. */
static uint64_t stream_told_interval(struct stream *s, uint64_t from_ns, uint64_t to_ns)
{
	struct frame frame;
	uint64_t ns;

	if (store_reader_seek(s->reader, from_ns, to_ns, FRAME_BIT(FRAME_META), NULL) < 0 ||
	    store_reader_next(s->reader, &frame, NULL) != 1)
		return 0;
	return meta_lines_u64(frame.payload, frame.len, "interval_ns", &ns) ? ns : 0;
}

uint64_t stream_interval(struct stream *s, uint64_t at_ns)
{
	uint64_t before = MIN_OF(at_ns, STREAM_MOST_INTERVAL_NS);

	if (!s->reader)
		return s->interval_ns;
	uint64_t ns = stream_told_interval(s, at_ns, at_ns + NS_PER_S);
	if (!ns) /* between two ticks that lie far apart */
		ns = stream_told_interval(s, at_ns - before, at_ns + STREAM_MOST_INTERVAL_NS);
	return ns ? MIN_OF(ns, STREAM_MOST_INTERVAL_NS) : NS_PER_S;
}

/* A tick ends the interval that its rates are of, and nearly that whole interval lies before a tick
 * on a whole second. So the ticks of a window are those whose interval has its middle in it; of a
 * window that is shorter than an interval, the one whose interval holds the window's middle. */
static void stream_cover(struct stream *s, uint64_t interval_ns)
{
	uint64_t length = s->to_ns > s->from_ns ? s->to_ns - s->from_ns : 0;
	uint64_t later = MIN_OF(interval_ns, length) / 2;

	s->tick_from_ns = s->from_ns + later;
	length = MAX_OF(length, interval_ns);
	s->tick_to_ns =
		length < UINT64_MAX - s->tick_from_ns ? s->tick_from_ns + length : UINT64_MAX;
}

static int stream_seek_store(struct stream *s, struct err *err)
{
	uint32_t kinds = 0;

	int r = store_reader_check_window(s->reader, s->from_ns, s->to_ns, err);
	if (r < 0)
		return r;
	if (s->what & STREAM_TICKS)
		kinds |= FRAME_BIT(FRAME_TICK) | FRAME_BIT(FRAME_KEY);
	if (s->what & STREAM_EVENTS)
		kinds |= FRAME_BIT(FRAME_EVENT);
	uint64_t lead = 0;
	s->tick_from_ns = s->from_ns;
	s->tick_to_ns = s->to_ns;
	if (s->what & STREAM_LEAD) {
		uint64_t interval = stream_interval(s, s->from_ns);
		stream_cover(s, interval);
		lead = STREAM_LEAD_TICKS * MAX_OF(interval, NS_PER_S);
	}
	return store_reader_seek(s->reader, s->from_ns - MIN_OF(lead, s->from_ns),
				 MAX_OF(s->to_ns, s->tick_to_ns), kinds, err);
}

int stream_seek(struct stream *s, uint64_t from_ns, uint64_t to_ns, unsigned what, struct err *err)
{
	s->from_ns = from_ns;
	s->to_ns = to_ns;
	s->what = what;
	s->have_lead = s->given_lead = s->have_held = false;
	s->key_segment = UINT64_MAX;
	return s->reader ? stream_seek_store(s, err) : 0;
}

/* Live: the first tick at once, the others on whole intervals. */
static int stream_next_live(struct stream *s, struct stream_item *ret, struct err *err)
{
	if (s->tick.real_ns) {
		uint64_t wait = s->interval_ns - clock_real_ns() % s->interval_ns;
		struct timespec ts = { (time_t)(wait / NS_PER_S), (long)(wait % NS_PER_S) };
		while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
			;
	}
	if (clock_real_ns() >= s->to_ns)
		return 0;
	int r = tick_source_read(s->source, &s->tick, &s->unknowns);
	if (r < 0)
		return err_set(err, r, "reading the host: out of memory");
	*ret = (struct stream_item){ .time_ns = s->tick.real_ns, .tick = &s->tick };
	return 1;
}

static int stream_decode_tick(struct stream *s, uint64_t time_ns, const void *bytes, size_t len,
			      struct stream_item *ret)
{
	int r = tick_codec_decode(s->codec, bytes, len, &s->tick);

	if (r < 0) {
		store_reader_add_loss(s->reader, time_ns, time_ns + NS_PER_S,
				      "a tick that cannot be decoded");
		return 0;
	}
	*ret = (struct stream_item){ .time_ns = s->tick.real_ns, .tick = &s->tick };
	return 1;
}

static void stream_take_key(struct stream *s, const struct frame *frame)
{
	if (frame->segment == s->key_segment) /* the second copy */
		return;
	if (tick_codec_decode_key(s->codec, frame->payload, frame->len) == 0)
		s->key_segment = frame->segment;
}

/* The lead is given before the first tick of the window, which waits meanwhile. */
static int stream_take_tick(struct stream *s, const struct frame *frame, struct stream_item *ret)
{
	if (frame->segment != s->key_segment) {
		store_reader_add_loss(s->reader, frame->time_ns, frame->time_ns + NS_PER_S,
				      "ticks of a segment whose key is lost");
		return 0;
	}
	if (frame->version != TICK_CODEC_VERSION) {
		store_reader_add_loss(s->reader, frame->time_ns, frame->time_ns + NS_PER_S,
				      "ticks that a newer version of zscope wrote");
		return 0;
	}
	if (frame->time_ns >= s->tick_from_ns)
		return stream_decode_tick(s, frame->time_ns, frame->payload, frame->len, ret);
	/* decoded now: its key may be another segment's when the window begins */
	if (tick_codec_decode(s->codec, frame->payload, frame->len, &s->tick) == 0)
		s->have_lead = true;
	return 0;
}

static int stream_take_event(struct stream *s, const struct frame *frame, struct stream_item *ret)
{
	arena_free(&s->event_arena);
	if (frame->time_ns < s->from_ns || frame->time_ns >= s->to_ns)
		return 0;
	if (rec_event_decode(frame->payload, frame->len, &s->event_arena, &s->event) < 0) {
		store_reader_add_loss(s->reader, frame->time_ns, frame->time_ns + 1,
				      "an event that cannot be decoded");
		return 0;
	}
	*ret = (struct stream_item){ .time_ns = s->event.time_ns, .event = &s->event };
	return 1;
}

/* Keep the frame for the next call. */
static bool stream_hold(struct stream *s, const struct frame *frame)
{
	buf_clear(&s->held_bytes);
	buf_add(&s->held_bytes, frame->payload, frame->len);
	s->held = *frame;
	s->held.payload = s->held_bytes.data;
	s->have_held = !s->held_bytes.failed;
	return s->have_held;
}

int stream_next(struct stream *s, struct stream_item *ret, struct err *err)
{
	struct frame frame;
	int got = 0;

	if (!s->reader)
		return stream_next_live(s, ret, err);
	while (!got) {
		if (s->have_held) {
			frame = s->held;
			s->have_held = false;
		} else {
			int r = store_reader_next(s->reader, &frame, err);
			if (r <= 0)
				return r;
		}
		if (frame.kind == FRAME_TICK && frame.time_ns >= s->tick_to_ns)
			continue;
		bool inside = frame.kind == FRAME_TICK && frame.time_ns >= s->tick_from_ns;
		if (inside && s->have_lead && !s->given_lead && stream_hold(s, &frame)) {
			s->given_lead = true;
			*ret = (struct stream_item){ .time_ns = s->tick.real_ns, .tick = &s->tick };
			return 1;
		}
		if (frame.kind == FRAME_KEY)
			stream_take_key(s, &frame);
		else if (frame.kind == FRAME_TICK)
			got = stream_take_tick(s, &frame, ret);
		else if (frame.kind == FRAME_EVENT)
			got = stream_take_event(s, &frame, ret);
	}
	return got;
}

int stream_each_event(struct stream *s, uint64_t from_ns, uint64_t to_ns,
		      int (*each)(void *arg, const struct rec_event *event), void *arg,
		      struct err *err)
{
	struct stream_item item;
	int r = stream_seek(s, from_ns, to_ns, STREAM_EVENTS, err);

	if (r < 0)
		return r;
	if (!s->reader)
		return 0;
	while ((r = stream_next(s, &item, err)) > 0) {
		int stop = each(arg, item.event);
		if (stop)
			return stop;
	}
	return r;
}

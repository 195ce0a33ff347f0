#include "record_ticks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "tick_codec.h"
#include "tick_path.h"
#include "tick_source.h"

/* Ticks between the two copies of a segment's key: far enough that one bad spot hits only one. */
enum { KEY_COPY_AFTER = 10 };

struct record_ticks_state {
	const struct rec_self *self; /* NULL = not asked for */
	struct tick_source *source;
	struct tick tick;
	struct tick_codec *codec;
	struct buf key, bytes;
	bool key_due;       /* this segment has none yet */
	unsigned copy_left; /* ticks until the copy; 0 = it is written */
	struct unknowns unknowns;
	size_t told; /* unknowns that the recording names already */
};

static void ticks_close(void *state)
{
	struct record_ticks_state *s = state;

	tick_source_close(s->source);
	tick_free(&s->tick);
	tick_codec_free(s->codec);
	buf_free(&s->key);
	buf_free(&s->bytes);
	unknowns_free(&s->unknowns);
	free(s);
}

static int ticks_open(void **ret_state, const struct recorder_context *context, struct err *err)
{
	const struct record_ticks_options *options = context->options;
	struct tick_source_options source = { .kinds = options ? options->kinds : 0,
					      .cores = context->cores };
	struct record_ticks_state *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	if (!source.kinds || source.kinds & TICK_KIND(REC_SELF))
		s->self = context->self;
	s->codec = tick_codec_new();
	int r = s->codec && buf_reserve(&s->key, 64 << 10) && buf_reserve(&s->bytes, 64 << 10)
			? 0
			: err_set(err, -ENOMEM, "out of memory");
	if (r == 0)
		r = tick_source_open(context->root, &source, &s->source, err);
	if (r < 0) {
		ticks_close(s);
		return r;
	}
	*ret_state = s;
	return 0;
}

static int ticks_begin_segment(void *state, const struct store_clock *clock, struct store_writer *w,
			       struct err *err)
{
	struct record_ticks_state *s = state;

	s->key_due = true;
	return 0;
}

static int ticks_put_key(struct record_ticks_state *s, uint64_t time_ns, struct store_writer *w,
			 struct err *err)
{
	return store_writer_append(w, FRAME_KEY, TICK_CODEC_VERSION, time_ns, s->key.data,
				   s->key.len, err);
}

static int ticks_make_key(struct record_ticks_state *s, struct store_writer *w, struct err *err)
{
	buf_clear(&s->key);
	int r = tick_codec_encode_key(s->codec, &s->tick, &s->key);
	if (r < 0)
		return err_set(err, r, "coding a key: %s", strerror(-r));
	s->key_due = false;
	s->copy_left = KEY_COPY_AFTER;
	return ticks_put_key(s, s->tick.real_ns, w, err);
}

/* What this host does not offer is said once, in the recording too. */
static void ticks_tell_unknowns(struct record_ticks_state *s, struct store_writer *w)
{
	for (; s->told < s->unknowns.list.len; s->told++) {
		const struct unknown *u = &s->unknowns.list.items[s->told];
		char text[sizeof(u->what) + sizeof(u->why) + 16];
		snprintf(text, sizeof(text), "not recorded: %s: %s", u->what, u->why);
		struct rec_event event = { .time_ns = s->tick.real_ns,
					   .end_ns = s->tick.real_ns,
					   .source = EVENT_SELF,
					   .trusted = true,
					   .count = 1,
					   .id = "recorder-unknown",
					   .text = text };
		recorder_put_event(w, &event, NULL);
	}
}

EVERY_TICK static int ticks_tick(void *state, const struct store_clock *clock,
				 struct store_writer *w, struct err *err)
{
	struct record_ticks_state *s = state;
	int r = tick_source_read(s->source, &s->tick, &s->unknowns);

	if (r < 0)
		return err_set(err, r, "reading the host: %s", strerror(-r));
	struct rec_self *self = s->self ? tick_add_row(&s->tick, REC_SELF) : NULL;
	if (self)
		*self = *s->self;
	if (s->key_due)
		r = ticks_make_key(s, w, err);
	else if (s->copy_left && --s->copy_left == 0)
		r = ticks_put_key(s, s->tick.real_ns, w, err);
	if (r < 0)
		return r;
	buf_clear(&s->bytes);
	r = tick_codec_encode(s->codec, &s->tick, &s->bytes);
	if (r < 0)
		return err_set(err, r, "coding a tick: %s", strerror(-r));
	ticks_tell_unknowns(s, w);
	return store_writer_append(w, FRAME_TICK, TICK_CODEC_VERSION, s->tick.real_ns,
				   s->bytes.data, s->bytes.len, err);
}

static int ticks_end_segment(void *state, const struct store_clock *clock, struct store_writer *w,
			     struct err *err)
{
	struct record_ticks_state *s = state;

	if (!s->copy_left || s->key_due)
		return 0;
	s->copy_left = 0;
	return ticks_put_key(s, clock->real_ns, w, err);
}

static void ticks_shed(void *state, unsigned level)
{
	struct record_ticks_state *s = state;
	tick_source_shed(s->source, level);
}

const struct recorder_part record_ticks = {
	.name = "ticks",
	.open = ticks_open,
	.begin_segment = ticks_begin_segment,
	.tick = ticks_tick,
	.shed = ticks_shed,
	.end_segment = ticks_end_segment,
	.close = ticks_close,
};

/* `cores` on a recording. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "cores.h"
#include "rec_cpu.h"
#include "stream.h"
#include "timefmt.h"

#define CORES_AROUND_NS                                                           \
	(3600 * NS_PER_S) /* how far off a second is looked for that can be shown \
			   */

struct cores_play {
	struct cores_run *run;
	struct stream *stream;
	/* The same recording once more: what its recorder said of itself is looked up while the
	 * ticks are read. */
	struct stream *aside;
	uint64_t recorded_ns; /* time between two ticks hereabouts */
	uint64_t interval_ns; /* of a row; 0 = each pair of ticks */
	uint64_t count;
	struct tick before, last; /* the first tick of the row that is open; the last one read */
	bool begun;
};

static void cores_play_free(struct cores_play *p)
{
	stream_close(p->stream);
	stream_close(p->aside);
	tick_free(&p->before);
	tick_free(&p->last);
}

/* The stream's tick goes with its next call: keep the cores and clocks. */
static int cores_keep(struct tick *to, const struct tick *from)
{
	tick_clear(to);
	to->real_ns = from->real_ns;
	to->mono_ns = from->mono_ns;
	to->boot_ns = from->boot_ns;
	for (size_t i = 0; i < from->rows[REC_CPU].len; i++) {
		struct rec_cpu *row = tick_add_row(to, REC_CPU);
		if (!row)
			return -ENOMEM;
		*row = *TICK_ROW(from, REC_CPU, rec_cpu, i);
	}
	return 0;
}

/* Are ticks missing between the two? A recorder that was started anew may have another interval. */
static bool cores_is_gap(struct cores_play *p, const struct tick *a, const struct tick *b)
{
	uint64_t passed =
		b->mono_ns > a->mono_ns ? b->mono_ns - a->mono_ns : b->real_ns - a->real_ns;

	if (passed < p->recorded_ns * 3 / 4 || passed > p->recorded_ns * 5 / 4)
		p->recorded_ns = stream_interval(p->aside, b->real_ns);
	return passed > p->recorded_ns * 3 / 2;
}

/* Counters begin anew with each boot, and may have passed the old ones by then. */
static bool cores_same_boot(struct cores_play *p, const struct tick *a, const struct tick *b)
{
	struct store_reader *reader = stream_store(p->aside);
	struct store_clock x, y;

	if (store_reader_clock(reader, a->real_ns, &x, NULL) < 0 ||
	    store_reader_clock(reader, b->real_ns, &y, NULL) < 0 || !x.boot_id[0] || !y.boot_id[0])
		return true; /* the recording does not tell; the counters still may */
	return strcmp(x.boot_id, y.boot_id) == 0;
}

static int cores_over_gap(struct cores_play *p, const struct tick *after, struct err *err)
{
	struct cores_run *c = p->run;
	char from[TIMEFMT_MAX], to[TIMEFMT_MAX];

	if (cores_same_boot(p, &p->last, after))
		return cores_feed(c, &p->last, after, true, err);
	if (!c->in->common.json && !c->hot_only)
		printf("%s── gap: %s to %s, the host was started anew ──\n", c->samples ? "\n" : "",
		       timefmt_local(from, p->last.real_ns), timefmt_local(to, after->real_ns));
	return cores_break(c, err);
}

/* The row that is open ends with the last tick. */
static int cores_end_row(struct cores_play *p, struct err *err)
{
	if (!p->interval_ns || !p->begun || p->last.real_ns <= p->before.real_ns)
		return 0;
	return cores_feed(p->run, &p->before, &p->last, false, err);
}

static int cores_play_tick(struct cores_play *p, const struct tick *t, struct err *err)
{
	bool row_ends = true;
	int r = 0;

	if (p->begun && cores_is_gap(p, &p->last, t)) {
		r = cores_end_row(p, err);
		if (r >= 0)
			r = cores_over_gap(p, t, err);
	} else if (p->begun && !p->interval_ns) {
		r = cores_feed(p->run, &p->last, t, false, err);
	} else if (p->begun) {
		/* half a tick early is nearer than half a tick late */
		row_ends = t->real_ns - p->before.real_ns + p->recorded_ns / 2 >= p->interval_ns;
		if (row_ends)
			r = cores_feed(p->run, &p->before, t, false, err);
	}
	if (r >= 0)
		r = cores_keep(&p->last, t);
	if (r >= 0 && row_ends && p->interval_ns)
		r = cores_keep(&p->before, t);
	p->begun = true;
	return r;
}

static bool cores_enough(const struct cores_play *p)
{
	return cores_stopped() || (p->count && p->run->samples >= p->count);
}

static int cores_play(struct cores_play *p, struct err *err)
{
	struct stream_item item;
	int r = 0;

	while (!cores_enough(p)) {
		r = stream_next(p->stream, &item, err);
		if (r <= 0)
			break;
		r = cores_play_tick(p, item.tick, err);
		if (r < 0)
			break;
	}
	if (r >= 0 && !cores_enough(p))
		r = cores_end_row(p, err);
	return r < 0 ? r : 0;
}

/* Nothing ends a second of which the recording holds no later tick. */
static int cores_tell_nearest(const struct cores_play *p, uint64_t asked_ns, uint64_t edge_ns,
			      uint64_t nearest_ns, struct err *err)
{
	char edge[TIMEFMT_MAX], nearest[TIMEFMT_MAX];
	const char *dir = p->run->in->store;

	if (!edge_ns)
		return err_set(err, -ENODATA, "%s: holds no reading of the cores near that time",
			       dir);
	timefmt_local(edge, edge_ns);
	if (!nearest_ns)
		return err_set(err, -ENODATA, "%s: one reading only, at %s: a second takes two",
			       dir, edge);
	timefmt_local(nearest, nearest_ns);
	if (edge_ns <= asked_ns)
		return err_set(err, -ENODATA,
			       "%s: the last reading is of %s, none follows that would end this "
			       "second; the nearest is --at '%s'",
			       dir, edge, nearest);
	return err_set(err, -ENODATA,
		       "%s: the first reading is of %s, none is before it; the nearest second is "
		       "--at '%s'",
		       dir, edge, nearest);
}

/* No pair of neighbours lies in the window: the one around its middle, when there is any, is what
 * is known of it; else say what is missing. */
static int cores_around(struct cores_play *p, uint64_t from, uint64_t to, struct err *err)
{
	uint64_t middle = from + (to - from) / 2, edge = 0, nearest = 0;
	struct stream_item item;
	int r = stream_seek(p->stream, from - MIN_OF(from, CORES_AROUND_NS), to + CORES_AROUND_NS,
			    STREAM_TICKS, err);

	p->begun = false;
	while (r >= 0 && (r = stream_next(p->stream, &item, err)) > 0) {
		const struct tick *t = item.tick;
		bool gap = p->begun && cores_is_gap(p, &p->last, t);
		if (p->begun && p->last.real_ns <= middle && t->real_ns > middle) {
			p->interval_ns = 0;
			return cores_play_tick(p, t, err);
		}
		if (p->begun && !gap)
			nearest = p->last.real_ns;
		edge = edge && t->real_ns > middle ? edge : t->real_ns;
		if (p->begun && nearest && t->real_ns > middle)
			break;
		r = cores_keep(&p->last, t);
		p->begun = true;
	}
	return r < 0 ? r : cores_tell_nearest(p, middle, edge, nearest, err);
}

/* What the recording lost is said, not smoothed over. */
static void cores_tell_losses(const struct stream *stream)
{
	const struct store_losses *losses = stream_losses(stream);
	char range[TIMEFMT_RANGE_MAX];

	if (!losses)
		return;
	vec_foreach (&losses->list, it)
		fprintf(stderr, "zscope: %s %s: %s\n",
			it->from_ns == it->to_ns ? "damaged at" : "lost",
			timefmt_range(range, it->from_ns, it->to_ns), it->why);
}

/* A recording may come from another host: its name is the recording's. */
static void cores_name_host(struct cores_run *c, struct stream *stream, uint64_t from, uint64_t to)
{
	struct store_reader *reader = stream_store(stream);
	struct frame frame;

	if (store_reader_seek(reader, from, to, FRAME_BIT(FRAME_META), NULL) == 0 &&
	    store_reader_next(reader, &frame, NULL) == 1)
		envelope_parse_meta(frame.payload, (size_t)frame.len, &c->envelope);
}

static int cores_window(struct cores_play *p, uint64_t *ret_from, uint64_t *ret_to, struct err *err)
{
	const struct common *common = &p->run->in->common;
	char each[TIMEFMT_MAX];
	uint64_t from, to;

	int r = stream_span(p->stream, &from, &to, err);
	if (r == 0)
		r = command_window(p->run->in, from, to, &from, &to, err);
	if (r < 0)
		return r;
	if (common->at.set && !common->length.set && p->interval_ns)
		to = from + p->interval_ns; /* one row */
	p->recorded_ns = stream_interval(p->aside, from);
	if (p->interval_ns && p->interval_ns < p->recorded_ns)
		return err_set(err, -EINVAL, "--interval: %s has one reading every %s",
			       p->run->in->store, timefmt_span(each, p->recorded_ns));
	*ret_from = from;
	*ret_to = to;
	return 0;
}

int cores_recorded(struct cores_run *c, uint64_t count, uint64_t interval_ns, struct err *err)
{
	AUTO(cores_play_free)
	struct cores_play p = { .run = c, .count = count, .interval_ns = interval_ns };
	uint64_t from = 0, to = 0;

	int r = stream_open_store(c->in->store, &p.stream, err);
	if (r == 0)
		r = stream_open_store(c->in->store, &p.aside, err);
	if (r == 0)
		r = cores_window(&p, &from, &to, err);
	if (r < 0)
		return r;
	cores_name_host(c, p.stream, from, to);
	r = stream_seek(p.stream, from, to, STREAM_TICKS | STREAM_LEAD, err);
	if (r == 0)
		r = cores_play(&p, err);
	if (r == 0)
		cores_tell_losses(p.stream);
	if (r == 0 && !c->samples && !cores_stopped())
		r = cores_around(&p, from, to, err);
	return r < 0 ? r : 0;
}

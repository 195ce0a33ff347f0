#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "auto.h"
#include "captured.h"
#include "commands.h"
#include "rec_cpu.h"
#include "stream.h"
#include "timefmt.h"
#include "view_cores.h"

struct cores_options {
	struct option_number count, interval;
	bool hot;
};

static const struct option options[] = {
	OPTION(cores_options, count, "count", 'c', OPTION_NUMBER, "N",
	       "stop after N samples (default: until interrupted)"),
	OPTION(cores_options, interval, "interval", 'i', OPTION_DURATION, "DURATION",
	       "time between two samples (default 1s)"),
	OPTION(cores_options, hot, "hot", 0, OPTION_FLAG, NULL,
	       "only spans in which one core was at least 95 % busy while the mean of all was "
	       "below "
	       "50 %"),
};

static volatile sig_atomic_t cores_stop;

static void cores_on_signal(int signal)
{
	(void)signal;
	cores_stop = 1;
}

struct cores_run {
	struct invocation *in;
	struct envelope envelope;
	struct rates rates;
	struct hot hot;
	struct unknowns unknown;
	uint64_t samples;
	bool hot_only, found; /* found: a span was shown */
};

static void cores_run_free(struct cores_run *c)
{
	rates_free(&c->rates);
	hot_free(&c->hot);
	unknowns_free(&c->unknown);
}

static int cores_written(struct err *err)
{
	return fflush(stdout) == 0
		       ? 0
		       : err_set(err, -errno, "writing the output: %s", strerror(errno));
}

/* Spans are shown as soon as they end. */
static int cores_show_hot(struct cores_run *c, struct err *err)
{
	AUTO_BUF struct buf out = { 0 };
	struct json j;

	if (!c->hot.done.len)
		return 0;
	if (!c->in->common.json && !c->found)
		view_hot_head(stdout);
	vec_foreach (&c->hot.done, it) {
		if (!c->in->common.json) {
			view_hot_row(stdout, &c->in->out, it);
			continue;
		}
		buf_clear(&out);
		json_init(&j, &out);
		view_hot_json(&j, &c->envelope, it);
		puts(buf_str(&out));
	}
	c->hot.done.len = 0;
	c->found = true;
	return out.failed ? err_set(err, -ENOMEM, "out of memory") : cores_written(err);
}

/* The two ends of a gap say nothing of it: what was open ends there. */
static int cores_end_hot(struct cores_run *c, struct err *err)
{
	if (hot_end(&c->hot) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return cores_show_hot(c, err);
}

/* One pair of ticks. 1 = shown, 0 = the two could not be compared. */
static int cores_feed(struct cores_run *c, const struct tick *before, const struct tick *after,
		      struct err *err)
{
	AUTO_BUF struct buf out = { 0 };
	struct json j;

	int r = rates_compute(before, after, &c->rates);
	if (r == -ENODATA || (r == 0 && !(c->rates.known & RATE_CORES)))
		return c->hot_only ? cores_end_hot(c, err) : 0;
	if (r == 0 && c->hot_only)
		r = hot_feed(&c->hot, &c->rates);
	if (r < 0)
		return err_set(err, r, "out of memory");
	c->samples++;
	if (c->hot_only) {
		r = cores_show_hot(c, err);
		return r < 0 ? r : 1;
	}
	if (c->in->common.json) {
		json_init(&j, &out);
		view_cores_json(&j, &c->envelope, &c->rates);
		puts(buf_str(&out));
	} else {
		if (c->in->out.tty && c->samples > 1)
			fputs("\033[H\033[J", stdout);
		else if (c->in->out.tty)
			fputs("\033[2J\033[H", stdout);
		else if (c->samples > 1)
			putchar('\n');
		view_cores_text(stdout, &c->in->out, &c->rates);
	}
	r = cores_written(err);
	return r < 0 ? r : 1;
}

static int cores_finish(struct cores_run *c, struct err *err)
{
	if (!c->hot_only)
		return STATUS_OK;
	int r = cores_end_hot(c, err);
	if (r < 0)
		return r;
	if (!c->found && !c->in->common.json)
		printf("no core was hot while the mean was low, in %llu samples\n",
		       (unsigned long long)c->samples);
	return c->found ? STATUS_FINDING : STATUS_OK;
}

/* Sleep until the next whole interval, so that ticks do not drift; false when interrupted. */
static bool cores_wait(uint64_t *next_ns, uint64_t interval_ns)
{
	uint64_t now = clock_mono_ns();

	*next_ns += interval_ns;
	if (*next_ns < now)
		*next_ns = now; /* we were stopped: start over instead of catching up */
	struct timespec ts = { (time_t)(*next_ns / NS_PER_S), (long)(*next_ns % NS_PER_S) };
	while (!cores_stop && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
	return !cores_stop;
}

static int cores_live(struct cores_run *c, const struct root *root, uint64_t count,
		      uint64_t interval_ns, struct err *err)
{
	const struct tick_source_options options_ = { .kinds = TICK_KIND(REC_CPU) };
	AUTO_TICK struct tick one = { 0 };
	AUTO_TICK struct tick other = { 0 };
	struct tick *before = &one, *after = &other;
	struct tick_source *source;
	uint64_t next = clock_mono_ns();

	int r = tick_source_open(root, &options_, &source, err);
	if (r < 0)
		return r;
	r = tick_source_read(source, before, &c->unknown);
	if (c->hot_only)
		fputs("zscope cores: watching; a span is shown when it has ended\n", stderr);
	while (r >= 0 && (!count || c->samples < count) && cores_wait(&next, interval_ns)) {
		r = tick_source_read(source, after, &c->unknown);
		if (r >= 0 && !after->rows[REC_CPU].len)
			r = err_set(err, -ENODATA, "%s",
				    c->unknown.list.len ? c->unknown.list.items[0].why
							: "/proc/stat: no cores");
		if (r >= 0)
			r = cores_feed(c, before, after, err);
		struct tick *swap = before;
		before = after;
		after = swap;
	}
	tick_source_close(source);
	return r < 0 ? r : 0;
}

static int cores_captured(struct cores_run *c, const struct root *root, struct err *err)
{
	const struct tick_source_options options_ = { .kinds = TICK_KIND(REC_CPU) };
	AUTO_TICK struct tick before = { 0 };
	AUTO_TICK struct tick after = { 0 };
	struct offer offer;

	int r = captured_pair(root, &options_, 0, &before, &after, &offer, &c->unknown, err);
	if (r > 0)
		r = cores_feed(c, &before, &after, err);
	if (r == 0)
		return err_set(err, -ENODATA, "%s",
			       c->unknown.list.len ? c->unknown.list.items[0].why
						   : "the two readings cannot be compared");
	return r;
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

static int cores_play(struct cores_run *c, struct stream *stream, uint64_t count, struct err *err)
{
	AUTO_TICK struct tick before = { 0 };
	struct stream_item item;
	bool first = true;

	while (!cores_stop && (!count || c->samples < count)) {
		int r = stream_next(stream, &item, err);
		if (r <= 0)
			return r;
		if (!item.tick)
			continue;
		r = first ? 0 : cores_feed(c, &before, item.tick, err);
		if (r >= 0)
			r = cores_keep(&before, item.tick);
		if (r < 0)
			return r;
		first = false;
	}
	return 0;
}

/* What the recording lost is said, not smoothed over. */
static void cores_tell_losses(const struct stream *stream)
{
	const struct store_losses *losses = stream_losses(stream);
	char from[TIMEFMT_MAX], to[TIMEFMT_MAX];

	if (!losses)
		return;
	vec_foreach (&losses->list, it)
		fprintf(stderr, "zscope: lost %s to %s: %s\n", timefmt_local(from, it->from_ns),
			timefmt_local(to, it->to_ns), it->why);
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

static int cores_recorded(struct cores_run *c, uint64_t count, struct err *err)
{
	const char *dir = c->in->store;
	uint64_t from, to;
	struct stream *stream;

	int r = stream_open_store(dir, &stream, err);
	if (r < 0)
		return r;
	r = stream_span(stream, &from, &to, err);
	if (r == 0)
		r = command_window(c->in, from, to, &from, &to, err);
	/* the tick that ends the interval in which that second lies */
	if (r == 0 && c->in->common.at.set && !c->in->common.length.set)
		to = MAX_OF(to, from + stream_interval(stream, from));
	if (r == 0)
		cores_name_host(c, stream, from, to);
	if (r == 0)
		r = stream_seek(stream, from, to, STREAM_TICKS | STREAM_LEAD, err);
	if (r == 0)
		r = cores_play(c, stream, count, err);
	if (r == 0)
		cores_tell_losses(stream);
	if (r == 0 && !c->samples && !cores_stop)
		r = err_set(err, -ENODATA, "%s: no second of this window can be shown", dir);
	stream_close(stream);
	return r;
}

static bool cores_wants_recording(const struct common *c)
{
	return c->store || c->at.set || c->from.set || c->to.set || c->length.set;
}

static int cores_run(struct invocation *in, struct err *err)
{
	const struct cores_options *o = in->options;
	AUTO(cores_run_free) struct cores_run c = { .in = in, .hot_only = o->hot };
	AUTO_ROOT struct root root = { .fd = -1 };
	uint64_t interval;

	int r = command_interval(&o->interval, &interval, err);
	if (r < 0)
		return r;
	if (o->count.set && !o->count.value)
		return err_set(err, -EINVAL, "--count: at least 1");
	r = command_root(in, &root, err);
	if (r < 0)
		return r;
	envelope_read(&root, &c.envelope);
	signal(SIGINT, cores_on_signal);
	signal(SIGTERM, cores_on_signal);
	if (cores_wants_recording(&in->common))
		r = cores_recorded(&c, o->count.value, err);
	else if (root.live)
		r = cores_live(&c, &root, o->count.value, interval, err);
	else
		r = cores_captured(&c, &root, err);
	return r < 0 ? r : cores_finish(&c, err);
}

const struct command cmd_cores = {
	.name = "cores",
	.summary = "every core, every second, with mpstat's columns",
	.arguments = "",
	.description =
		"Shows where the time of every core went, as mpstat -P ALL defines it: an "
		"aggregate "
		"of 96 cores hides one core at 100 % sys. Live, or on a recording with --at or "
		"--from/--to. --json prints one object a second. A core that was there and has "
		"gone "
		"offline is named as such.\n\n"
		"--hot lists only what the mean hides: spans in which one core was at least 95 % "
		"busy while the mean of all was below 50 %, each when it has ended; the exit "
		"status is "
		"1 when there were any.",
	.examples = "zscope cores\nzscope cores --count 5 --json\nzscope cores --at 03:12:07\n"
		    "zscope cores --hot --from -12h\n",
	.common = COMMON_JSON | COMMON_ROOT | COMMON_STORE | COMMON_WINDOW,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct cores_options),
	.run = cores_run,
};

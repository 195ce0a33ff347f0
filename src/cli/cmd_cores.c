#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "auto.h"
#include "captured.h"
#include "commands.h"
#include "cores.h"
#include "tick_source.h"
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

bool cores_stopped(void)
{
	return cores_stop;
}

void cores_run_free(struct cores_run *c)
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

int cores_break(struct cores_run *c, struct err *err)
{
	if (hot_end(&c->hot) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return cores_show_hot(c, err);
}

static int cores_show(struct cores_run *c, struct err *err)
{
	AUTO_BUF struct buf out = { 0 };
	struct json j;

	if (c->in->common.json) {
		json_init(&j, &out);
		view_cores_json(&j, &c->envelope, &c->rates);
		puts(buf_str(&out));
		return out.failed ? err_set(err, -ENOMEM, "out of memory") : cores_written(err);
	}
	if (c->redraw) {
		terminal_measure(&c->in->out, stdout);
		fputs(c->samples > 1 ? "\033[H\033[J" : "\033[2J\033[H", stdout);
	} else if (c->samples > 1) {
		putchar('\n');
	}
	/* the cursor stands below the last line */
	size_t lines = c->redraw && c->in->out.height ? c->in->out.height - 1 : 0;
	view_cores_text(stdout, &c->in->out, &c->rates, lines);
	return cores_written(err);
}

static int cores_show_spans(struct cores_run *c, struct err *err)
{
	/* the two ends of a gap say nothing of it: what was open ends there */
	int r = c->rates.gap ? hot_end(&c->hot) : hot_feed(&c->hot, &c->rates);

	return r < 0 ? err_set(err, r, "out of memory") : cores_show_hot(c, err);
}

int cores_feed(struct cores_run *c, const struct tick *before, const struct tick *after, bool gap,
	       struct err *err)
{
	int r = rates_compute(before, after, &c->rates);

	if (r == -ENODATA || (r == 0 && !(c->rates.known & RATE_CORES)))
		return c->hot_only ? cores_break(c, err) : 0;
	if (r < 0)
		return err_set(err, r, "out of memory");
	c->rates.gap = gap;
	if (!c->samples++)
		c->first_ns = c->rates.from_ns;
	c->last_ns = c->rates.to_ns;
	c->cores = MAX_OF(c->cores, c->rates.cpus.len);
	r = c->hot_only ? cores_show_spans(c, err) : cores_show(c, err);
	return r < 0 ? r : 1;
}

static int cores_finish(struct cores_run *c, struct err *err)
{
	if (!c->hot_only)
		return STATUS_OK;
	int r = cores_break(c, err);
	if (r < 0)
		return r;
	if (!c->found && !c->in->common.json)
		view_hot_none(stdout, c->samples, c->first_ns, c->last_ns);
	if (!c->found)
		view_hot_few_cores(c->in->common.json ? stderr : stdout, c->cores);
	return c->found ? STATUS_FINDING : STATUS_OK;
}

/* Sleep until the next whole interval, so that ticks do not drift; false when interrupted. */
static bool cores_wait(uint64_t *next_ns, uint64_t interval_ns)
{
	uint64_t now = clock_mono_ns();

	*next_ns += interval_ns;
	/* we were stopped, or starved: what is left of an interval would be a row of nearly no
	 * time, in which a busy core may look idle */
	if (*next_ns < now + interval_ns / 2)
		*next_ns += (now + interval_ns / 2 - *next_ns + interval_ns - 1) / interval_ns *
			    interval_ns;
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
			r = cores_feed(c, before, after,
				       after->mono_ns - before->mono_ns > interval_ns * 3 / 2, err);
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
		r = cores_feed(c, &before, &after, false, err);
	if (r == 0)
		return err_set(err, -ENODATA, "%s",
			       c->unknown.list.len ? c->unknown.list.items[0].why
						   : "the two readings cannot be compared");
	return r;
}

/* --for alone is how long to watch; of a captured host it is the end of its recording. */
static bool cores_wants_recording(const struct common *c, const struct root *root)
{
	return c->store || c->at.set || c->from.set || c->to.set || (c->length.set && !root->live);
}

static int cores_check_options(const struct invocation *in, uint64_t *ret_interval_ns,
			       uint64_t *ret_count, struct err *err)
{
	const struct cores_options *o = in->options;
	const struct common *c = &in->common;

	if (o->count.set && !o->count.value)
		return err_set(err, -EINVAL, "--count: at least 1");
	if (c->store && c->root)
		return err_set(err, -EINVAL,
			       "--store and --root exclude each other: without --store, the "
			       "recording below --root is used");
	*ret_count = o->count.value;
	return command_interval(&o->interval, ret_interval_ns, err);
}

/* How often to look, when --for says how long. */
static int cores_for(const struct invocation *in, uint64_t interval_ns, uint64_t *count,
		     struct err *err)
{
	uint64_t most = in->common.length.value / interval_ns;

	if (!in->common.length.set)
		return 0;
	if (!most)
		return err_set(err, -EINVAL, "--for: shorter than one --interval");
	*count = *count ? MIN_OF(*count, most) : most;
	return 0;
}

static int cores_answer(struct cores_run *c, struct err *err)
{
	const struct cores_options *o = c->in->options;
	AUTO_ROOT struct root root = { .fd = -1 };
	uint64_t interval = 0, count = 0;

	int r = cores_check_options(c->in, &interval, &count, err);
	if (r == 0)
		r = command_root(c->in, &root, err);
	if (r < 0)
		return r;
	envelope_read(&root, &c->envelope);
	if (cores_wants_recording(&c->in->common, &root))
		return cores_recorded(c, count, o->interval.set ? interval : 0, err);
	if (!root.live)
		return cores_captured(c, &root, err);
	r = cores_for(c->in, interval, &count, err);
	if (r < 0)
		return r;
	c->redraw = c->in->out.moves && !c->in->common.json;
	return cores_live(c, &root, count, interval, err);
}

static int cores_run(struct invocation *in, struct err *err)
{
	const struct cores_options *o = in->options;
	AUTO(cores_run_free) struct cores_run c = { .in = in, .hot_only = o->hot };

	signal(SIGINT, cores_on_signal);
	signal(SIGTERM, cores_on_signal);
	int r = cores_answer(&c, err);
	if (r >= 0)
		r = cores_finish(&c, err);
	if (r != -EPIPE)
		return r;
	clearerr(stdout); /* `| head -1` has what it wanted */
	return c.found ? STATUS_FINDING : STATUS_OK;
}

const struct command cmd_cores = {
	.name = "cores",
	.summary = "every core, every second, with mpstat's columns",
	.arguments = "",
	.description =
		"Shows where the time of every core went, as mpstat -P ALL defines it: an "
		"aggregate "
		"of 96 cores hides one core at 100 % sys. Live, or on a recording with --at or "
		"--from/--to: --at T is the second from T to T+1, as of flame and heat. --for "
		"alone watches that long. --interval on a recording makes rows of that length. "
		"Where readings are missing, the mean over the gap is shown and marked as "
		"such. --json prints one object a second: time is its end, as mpstat's, and from "
		"its beginning. A core that was there and has gone offline is named as such.\n\n"
		"On a terminal that cannot show all cores, the live view shows the busiest.\n\n"
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

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "buf.h"
#include "commands.h"
#include "envelope.h"
#include "note_spool.h"
#include "numbers.h"
#include "series.h"
#include "text.h"
#include "timefmt.h"
#include "undo.h"
#include "view_validate.h"

static const uint64_t validate_default_ns = 600 * NS_PER_S;
/* A recorder that wrote nothing for so long is not running. */
static const uint64_t validate_stale_ns = 10 * NS_PER_S;
/* So many looks in a row must call it worse before it ends early. */
enum { VALIDATE_RELAPSE_LOOKS = 3, VALIDATE_LOOK_S = 5 };

struct validate_options {
	struct option_number length, since;
	const char *state;
};

static const struct option options[] = {
	OPTION(validate_options, length, "for", 0, OPTION_DURATION, "DURATION",
	       "how long to look before and after the fix (default 10m)"),
	OPTION(validate_options, since, "since", 0, OPTION_TIME, "TIME",
	       "when the fix was made (default: the last 'zscope fix', else now)"),
	OPTION(validate_options, state, "state", 0, OPTION_TEXT, "DIR",
	       "where the fix was noted (default " STATE_DEFAULT ")"),
};

/* Undo journals are named by their time. */
static uint64_t validate_last_fix(const char *state_dir)
{
	AUTO_UNDO struct undo u = { .file_fd = -1, .lock_fd = -1, .dir_fd = -1 };
	char name[64];
	uint64_t ns;
	const char *p = name;

	if (access(state_dir, F_OK) < 0 || undo_open(state_dir, &u, NULL) < 0 ||
	    undo_newest(&u, name, NULL) < 0 || text_take_u64(&p, &ns) < 0)
		return 0;
	return ns;
}

struct validate_look {
	struct series before, after;
	struct metric metrics[SERIES_END];
	struct validation v;
};

static void look_free(struct validate_look *l)
{
	series_free(&l->before);
	series_free(&l->after);
}

static int validate_compare(const char *store, struct validate_look *l, uint64_t until_ns,
			    struct err *err)
{
	struct stream *s = NULL;

	look_free(l);
	l->before = l->after = (struct series){ 0 };
	int r = stream_open_store(store, &s, err);
	if (r == 0)
		r = series_read(s, l->v.before_from_ns, l->v.fixed_ns, &l->before, err);
	if (r == -ERANGE)
		r = 0; /* nothing before: every metric is unknown, and says so */
	if (r == 0)
		r = series_read(s, l->v.fixed_ns, until_ns, &l->after, err);
	stream_close(s);
	if (r < 0)
		return r;
	series_compare(&l->before, &l->after, l->metrics);
	l->v.metrics = l->metrics;
	l->v.n = SERIES_END;
	l->v.outcome = compare_all(l->metrics, SERIES_END);
	return 0;
}

static int validate_recorder_runs(const char *store, struct err *err)
{
	struct stream *s = NULL;
	uint64_t from, to;

	int r = stream_open_store(store, &s, err);
	if (r == 0)
		r = stream_span(s, &from, &to, err);
	stream_close(s);
	if (r < 0)
		return r;
	return to + validate_stale_ns < clock_real_ns()
		       ? err_set(err, -ENODATA,
				 "%s: nothing is being recorded: start 'zscope record' first",
				 store)
		       : 0;
}

/* Follow the recorder until the time is over or a relapse is clear. */
static int validate_follow(struct invocation *in, const char *store, struct validate_look *l,
			   struct err *err)
{
	unsigned worse = 0;
	int r = 0;

	while (r == 0 && clock_real_ns() < l->v.to_ns && worse < VALIDATE_RELAPSE_LOOKS) {
		uint64_t now = clock_real_ns();
		uint64_t wait_s =
			MIN_OF((l->v.to_ns - now) / NS_PER_S + 1, (uint64_t)VALIDATE_LOOK_S);
		sleep((unsigned)wait_s);
		r = validate_recorder_runs(store, err);
		if (r == 0)
			r = validate_compare(store, l, clock_real_ns(), err);
		worse = r == 0 && l->v.outcome == OUTCOME_WORSE ? worse + 1 : 0;
		if (in->diag.tty)
			fprintf(stderr, "\r%4.0f s left, so far: %-10s",
				(double)(l->v.to_ns > now ? l->v.to_ns - now : 0) / 1e9,
				outcome_name(l->v.outcome));
	}
	if (in->diag.tty)
		fputs("\r                                   \r", stderr);
	if (r == 0 && worse >= VALIDATE_RELAPSE_LOOKS) {
		l->v.ended_early = true;
		l->v.to_ns = clock_real_ns();
	}
	return r;
}

static void validate_print(struct invocation *in, const struct validation *v)
{
	AUTO_BUF struct buf out = { 0 };
	struct envelope envelope;
	struct json j;

	if (!in->common.json) {
		view_validate_text(stdout, &in->out, v);
		return;
	}
	envelope_read_live(&envelope);
	json_init(&j, &out);
	json_object(&j, NULL);
	envelope_json(&j, &envelope, "validate", in->now_ns);
	view_validate_json(&j, v);
	json_end_object(&j);
	puts(buf_str(&out));
}

/* Into the timeline, beside what the host did. A store that takes no notes (another host's, read
 * only) does not make the answer worse. */
static void validate_store(struct invocation *in, const char *store, const struct validation *v)
{
	AUTO_BUF struct buf text = { 0 }, metrics = { 0 };
	struct err err = { 0 };
	char fixed[TIMEFMT_MAX], before[NUMBERS_MAX], after[NUMBERS_MAX];

	buf_addf(&text, "validated: %s since %s", outcome_name(v->outcome),
		 timefmt_local(fixed, v->fixed_ns));
	for (size_t i = 0; i < v->n; i++) {
		const struct metric *m = &v->metrics[i];
		if (m->outcome == OUTCOME_UNKNOWN || m->outcome == OUTCOME_UNCHANGED)
			continue;
		buf_addf(&metrics, "%s%s %s: %s to %s", metrics.len ? "; " : "", m->name,
			 outcome_name(m->outcome), numbers_mean(before, m->mean_before),
			 numbers_mean(after, m->mean_after));
	}
	if (metrics.len)
		buf_addf(&text, " (%s)", buf_str(&metrics));
	struct rec_event_field fields[] = { { "outcome", outcome_name(v->outcome) },
					    { "since", timefmt_rfc3339(fixed, v->fixed_ns) },
					    { "metrics", buf_str(&metrics) } };
	struct rec_event event = {
		.time_ns = in->now_ns,
		.end_ns = in->now_ns,
		.source = EVENT_NOTE,
		.severity = v->outcome == OUTCOME_WORSE ? EVENT_WARN : EVENT_INFO,
		.count = 1,
		.id = "validate",
		.text = buf_str(&text),
		.fields = fields,
		.n_fields = ARRAY_LEN(fields),
	};
	if (note_spool_put(store, &event, &err) < 0)
		fprintf(stderr, "zscope validate: the result is not kept: %s\n", err.text);
}

static int validate_run(struct invocation *in, struct err *err)
{
	const struct validate_options *o = in->options;
	const char *store = in->store;
	uint64_t length = o->length.set ? o->length.value : validate_default_ns;
	uint64_t fixed = o->since.set ? o->since.value
				      : validate_last_fix(o->state ? o->state : STATE_DEFAULT);
	__attribute__((cleanup(look_free))) struct validate_look l = { 0 };

	fixed = fixed ? fixed : in->now_ns;
	if (length < VALIDATE_LOOK_S * NS_PER_S)
		return err_set(err, -EINVAL, "--for takes at least %ds", VALIDATE_LOOK_S);
	l.v.before_from_ns = fixed > length ? fixed - length : 0;
	l.v.fixed_ns = fixed;
	l.v.to_ns = fixed + length;
	int r = 0;
	if (clock_real_ns() < l.v.to_ns) {
		r = validate_recorder_runs(store, err);
		if (r == 0)
			r = validate_follow(in, store, &l, err);
	}
	if (r == 0)
		r = validate_compare(store, &l, l.v.to_ns, err);
	if (r < 0)
		return r;
	validate_print(in, &l.v);
	in->now_ns = clock_real_ns();
	validate_store(in, store, &l.v);
	if (l.v.outcome == OUTCOME_UNKNOWN)
		return STATUS_UNKNOWN;
	return l.v.outcome == OUTCOME_WORSE || l.v.outcome == OUTCOME_UNCHANGED ? STATUS_FINDING
										: STATUS_OK;
}

const struct command cmd_validate = {
	.name = "validate",
	.summary = "did the fix help? before and after, from the recording",
	.arguments = "",
	.description = "Compares the time before the last fix with the time after it, second by "
		       "second: restarts, containers, "
		       "zombies and their growth, saturated cores, throttling, reclaim, pressure, "
		       "resets. A metric has changed "
		       "when its medians differ and a rank test says that chance would not do it "
		       "(p < 0.01); see "
		       "docs/DIAGNOSIS.md. Follows the running recorder until the time is over, "
		       "and ends early on a clear "
		       "relapse. The result is kept in the timeline (zscope events --id "
		       "validate).\n\nExit status 0: healed or better. 1: unchanged or worse. 2: "
		       "could not tell.",
	.examples = "zscope validate\nzscope validate --for 2m --json\n",
	.common = COMMON_JSON | COMMON_STORE,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct validate_options),
	.run = validate_run,
};

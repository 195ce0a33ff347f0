#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "buf.h"
#include "collect.h"
#include "commands.h"
#include "diagnosis.h"
#include "envelope.h"
#include "manager.h"
#include "plan_file.h"
#include "record_parts.h"
#include "text.h"
#include "timefmt.h"
#include "undo.h"
#include "view_why.h"

static const uint64_t why_default_watch_ns = 30 * NS_PER_S;
/* Of the kernel's ring, so much counts for a live answer. */
static const uint64_t why_ring_ns = 900 * NS_PER_S;
static const uint64_t why_before_event_ns = 60 * NS_PER_S;

struct why_options {
	struct option_number watch;
	const char *event, *state;
	bool no_save;
};

static const struct option options[] = {
	OPTION(why_options, watch, "watch", 0, OPTION_DURATION, "DURATION",
	       "watch this host for so long, then answer (default 30s)"),
	OPTION(why_options, event, "event", 0, OPTION_TEXT, "ID",
	       "the minute before an event of the recording, by the key that 'zscope events "
	       "--json' gives"),
	OPTION(why_options, no_save, "no-save", 0, OPTION_FLAG, NULL,
	       "do not keep the plan for 'zscope fix'"),
	OPTION(why_options, state, "state", 0, OPTION_TEXT, "DIR",
	       "where the plan is kept (default " STATE_DEFAULT ")"),
};

struct why_watch {
	struct invocation *in;
	uint64_t started_ns, length_ns;
	char dir[64];
};

static int why_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void why_watch_close(struct why_watch *w)
{
	if (*w->dir)
		nftw(w->dir, why_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void why_say(void *arg, const char *line)
{
	(void)arg;
	fprintf(stderr, "zscope why: %s\n", line);
}

/* Progress while it watches, on a terminal only. */
static void why_alive(void *arg, bool first)
{
	const struct why_watch *w = arg;
	uint64_t gone = clock_mono_ns() - w->started_ns;

	if (first)
		fprintf(stderr, "zscope why: watching this host for %.0f s\n",
			(double)w->length_ns / 1e9);
	else if (w->in->diag.tty)
		fprintf(stderr, "\r%3.0f of %.0f s ", (double)gone / 1e9,
			(double)w->length_ns / 1e9);
}

/* Record this host into a private store in memory: the same path as for last night's recording. */
static int why_watch_host(struct why_watch *w, struct err *err)
{
	AUTO_ROOT struct root root = { .fd = -1 };
	struct record_parts parts;

	text_copy(w->dir, sizeof(w->dir), "/dev/shm/zscope-why-XXXXXX");
	if (!mkdtemp(w->dir)) {
		text_copy(w->dir, sizeof(w->dir), "/tmp/zscope-why-XXXXXX");
		if (!mkdtemp(w->dir)) {
			w->dir[0] = '\0';
			return err_set(err, -errno, "no directory for the watch: %s",
				       strerror(errno));
		}
	}
	int r = root_open(NULL, &root, err);
	if (r < 0)
		return r;
	record_parts_fill(&parts, 0, false);
	struct recorder_options o = {
		.store_dir = w->dir,
		.root = &root,
		.parts = parts.list,
		.n_parts = parts.n,
		.duration_ns = w->length_ns,
		.say = why_say,
		.alive = why_alive,
		.arg = w,
	};
	w->started_ns = clock_mono_ns();
	r = recorder_run(&o, err);
	if (w->in->diag.tty)
		fputs("\r                    \r", stderr);
	return r;
}

struct why_find {
	const char *key;
	uint64_t from_ns, to_ns;
};

static int why_match_event(void *arg, const struct rec_event *event)
{
	struct why_find *find = arg;
	char key[16];

	rec_event_key(event, key);
	if (strcmp(key, find->key) != 0)
		return 0;
	find->from_ns = event->time_ns - why_before_event_ns;
	find->to_ns = event->end_ns + 5 * NS_PER_S;
	return 1;
}

static int why_window(struct invocation *in, struct collect_window *w, bool live, struct err *err)
{
	const struct why_options *o = in->options;
	uint64_t from, to;

	int r = stream_span(w->stream, &from, &to, err);
	if (r < 0)
		return r;
	w->from_ns = from;
	w->to_ns = to;
	if (live) {
		/* the kernel's ring reaches far back: what happened long ago is not why it is sick
		 * now */
		w->from_ns = to - from > why_ring_ns ? to - why_ring_ns : from;
		return 0;
	}
	if (!o->event) {
		r = command_window(in, from, to, &w->from_ns, &w->to_ns, err);
		return r < 0 ? r
			     : store_reader_check_window(stream_store(w->stream), w->from_ns,
							 w->to_ns, err);
	}
	struct why_find find = { .key = o->event };
	r = stream_each_event(w->stream, from, to, why_match_event, &find, err);
	if (r < 0)
		return r;
	if (!find.to_ns)
		return err_set(
			err, -ENOENT,
			"no event '%s' in the recording: zscope events --json gives the keys",
			o->event);
	w->from_ns = find.from_ns;
	w->to_ns = find.to_ns;
	return 0;
}

static void why_print(struct invocation *in, const struct collected *c, const struct diagnosis *d)
{
	AUTO_BUF struct buf out = { 0 };
	struct envelope envelope = { 0 };
	struct json j;

	if (!in->common.json) {
		view_why_text(stdout, &in->out, d);
		return;
	}
	text_copy(envelope.host, sizeof(envelope.host), c->host);
	text_copy(envelope.kernel, sizeof(envelope.kernel), c->kernel);
	json_init(&j, &out);
	json_object(&j, NULL);
	envelope_json(&j, &envelope, "why", c->facts.to_ns);
	json_time(&j, "from", c->facts.from_ns);
	json_time(&j, "to", c->facts.to_ns);
	view_why_json(&j, d);
	json_end_object(&j);
	puts(buf_str(&out));
}

/* A plan that cannot be saved is still worth reading. */
static void why_save_plan(struct invocation *in, const struct diagnosis *d)
{
	const struct why_options *o = in->options;
	AUTO_ROOT struct root root = { .fd = -1 };
	AUTO_MANAGER struct manager *m = NULL;
	struct err err = { 0 };

	if (o->no_save || !d->plan.len || root_open(NULL, &root, &err) < 0)
		return;
	if (manager_open(&m, NULL) < 0)
		m = NULL;
	if (plan_file_save(o->state ? o->state : STATE_DEFAULT, &root, m, d, in->now_ns, &err) < 0)
		fprintf(stderr, "zscope why: the plan is not kept for 'zscope fix': %s\n",
			err.text);
}

static int why_status(const struct diagnosis *d)
{
	return d->blind ? STATUS_UNKNOWN : d->healthy ? STATUS_OK : STATUS_FINDING;
}

static int why_answer(struct invocation *in, const char *store, bool live, struct err *err)
{
	AUTO_COLLECTED struct collected c = { 0 };
	AUTO_DIAGNOSIS struct diagnosis d = { 0 };
	AUTO_ROOT struct root root = { .fd = -1 };
	struct collect_window w = { .live = live ? &root : NULL,
				    .history_dir = live ? STORE_DEFAULT : store };

	int r = live ? root_open(NULL, &root, err) : 0;
	if (r == 0)
		r = stream_open_store(store, &w.stream, err);
	if (r < 0)
		return r;
	r = why_window(in, &w, live, err);
	if (r == 0)
		r = collect_facts(&w, &c, err);
	stream_close(w.stream);
	c.facts.live = live;
	if (r == 0)
		r = diagnosis_make(&c.facts, NULL, &d, err);
	if (r < 0)
		return r;
	vec_foreach (&c.unknown.list, u)
		unknowns_add(&d.unknown, u->what, "%s", u->why);
	if (live)
		why_save_plan(in, &d);
	why_print(in, &c, &d);
	return why_status(&d);
}

/* Two readings a second apart: less than a stretch, but all that there is. */
static int why_captured(struct invocation *in, struct err *err)
{
	AUTO_COLLECTED struct collected c = { 0 };
	AUTO_DIAGNOSIS struct diagnosis d = { 0 };
	AUTO_ROOT struct root root = { .fd = -1 };
	struct thresholds t = thresholds_default;
	struct envelope envelope;

	int r = command_root(in, &root, err);
	if (r == 0)
		r = collect_captured(&root, &c, err);
	if (r < 0)
		return r;
	envelope_read(&root, &envelope);
	envelope_unknowns(&envelope, &c.unknown);
	text_copy(c.host, sizeof(c.host), envelope.host);
	text_copy(c.kernel, sizeof(c.kernel), envelope.kernel);
	sscanf(c.kernel, "%u.%u", &c.facts.kernel_major, &c.facts.kernel_minor);
	t.saturated_least_ns = MIN_OF(t.saturated_least_ns, c.facts.to_ns - c.facts.from_ns);
	r = diagnosis_make(&c.facts, &t, &d, err);
	if (r < 0)
		return r;
	vec_foreach (&c.unknown.list, u)
		unknowns_add(&d.unknown, u->what, "%s", u->why);
	why_print(in, &c, &d);
	return why_status(&d);
}

static int why_run(struct invocation *in, struct err *err)
{
	const struct why_options *o = in->options;
	const struct common *c = &in->common;
	bool recorded = c->store || c->at.set || c->from.set || c->to.set || o->event;

	if (c->root && strcmp(c->root, "/") != 0 && o->watch.set)
		return err_set(err, -EINVAL, "--watch is for this host, --root for another");
	if (c->root && strcmp(c->root, "/") != 0 && !recorded)
		return why_captured(in, err);
	if (recorded && o->watch.set)
		return err_set(err, -EINVAL,
			       "--watch is for now, --at, --from, --to, --event and --store for a "
			       "recording");
	if (recorded)
		return why_answer(in, in->store, false, err);
	__attribute__((cleanup(why_watch_close))) struct why_watch w = {
		.in = in,
		.length_ns = o->watch.set ? o->watch.value : why_default_watch_ns,
	};
	if (w.length_ns < 2 * NS_PER_S)
		return err_set(err, -EINVAL, "--watch takes at least 2s");
	int r = why_watch_host(&w, err);
	return r < 0 ? r : why_answer(in, w.dir, true, err);
}

const struct command cmd_why = {
	.name = "why",
	.summary = "why is this node sick? verdict, chain of causes, plan",
	.arguments = "",
	.description = "Watches the host for half a minute (cores, profile, cgroups, units, "
		       "containers, kernel log), or takes a "
		       "window of a recording, asks every rule of docs/DIAGNOSIS.md, and joins "
		       "what it finds into a chain from "
		       "the cause to what hurts. Every claim comes with the file, field or command "
		       "that shows it. What could "
		       "not be read is listed under unknown and never guessed.\n\nExit status 1 "
		       "when there is a verdict, 0 when the "
		       "node is healthy. The plan is kept for 'zscope fix'.",
	.examples = "zscope why\nzscope why --watch 10s --json\nzscope why --at 03:12:07 --for "
		    "30s\nzscope why --root host.tar.zst\n",
	.common = COMMON_JSON | COMMON_ROOT | COMMON_STORE | COMMON_WINDOW,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct why_options),
	.run = why_run,
};

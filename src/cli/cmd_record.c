#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "commands.h"
#include "envelope.h"
#include "json.h"
#include "record_parts.h"
#include "segment.h"
#include "systemd_library.h"
#include "text.h"
#include "timefmt.h"

#define RECORD_MAX_BYTES   (UINT64_C(2) << 30)
#define RECORD_LEAST_BYTES (UINT64_C(1) << 20)

/* What a recorder takes; a value beyond is refused, not bent to the nearest that works. */
static int record_check(const char *name, const struct option_number *given, uint64_t least,
			uint64_t most, const char *words, struct err *err)
{
	if (!given->set || (given->value >= least && given->value <= most))
		return 0;
	return err_set(err, -EINVAL, "--%s takes %s", name, words);
}

struct record_options {
	const char *max_bytes;
	struct option_number max_age, duration, interval, segment, hz;
	bool no_profile;
};

static const struct option options[] = {
	OPTION(record_options, max_bytes, "max-bytes", 0, OPTION_TEXT, "SIZE",
	       "keep at most so much, oldest goes first (500M, 2G; default 2G, 0 = no limit)"),
	OPTION(record_options, max_age, "max-age", 0, OPTION_DURATION, "DURATION",
	       "delete what is older (12h, 3d; default: no limit), but not what is pinned: a "
	       "minute "
	       "before and after each critical event stays until --max-bytes needs its room"),
	OPTION(record_options, duration, "for", 0, OPTION_DURATION, "DURATION",
	       "end after that time (default: until SIGTERM or SIGINT)"),
	OPTION(record_options, interval, "interval", 0, OPTION_DURATION, "DURATION",
	       "time between ticks (default 1s; 100ms to 1m)"),
	OPTION(record_options, segment, "segment", 0, OPTION_DURATION, "DURATION",
	       "time in one file (default 60s; 1s to 10m)"),
	OPTION(record_options, hz, "hz", 0, OPTION_NUMBER, "N",
	       "profile samples per core and second (default 97; 1 to 10000)"),
	OPTION(record_options, no_profile, "no-profile", 0, OPTION_FLAG, NULL,
	       "record no profiles"),
};

static int record_parse_size(const char *text, uint64_t *ret, struct err *err)
{
	static const char suffixes[] = "KMGT";
	const char *p = text;
	uint64_t value;

	if (text_take_u64(&p, &value) == 0) {
		const char *suffix = *p ? strchr(suffixes, *p) : NULL;
		unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
		if ((!*p || (suffix && !p[1])) && value <= UINT64_MAX >> shift) {
			value <<= shift;
			if (value && value < RECORD_LEAST_BYTES)
				return err_set(err, -EINVAL, "--max-bytes takes at least 1M");
			*ret = value;
			return 0;
		}
	}
	return err_set(err, -EINVAL, "--max-bytes takes a size as 500M or 2G, not '%s'", text);
}

/* Who hears what the recorder says. */
struct record_teller {
	bool json;
	const char *store;
	struct envelope envelope;
	bool told; /* that the service manager hears nothing */
};

/* A line on stdout, at once: whoever reads it acts on it. */
static void record_json(const struct record_teller *t, const char *state, const char *key,
			const char *value)
{
	AUTO_BUF struct buf out = { 0 };
	struct json j;

	json_init(&j, &out);
	json_object(&j, NULL);
	envelope_json(&j, &t->envelope, "record", clock_real_ns());
	json_str(&j, "state", state);
	if (key)
		json_str(&j, key, value);
	json_end_object(&j);
	puts(buf_str(&out));
	fflush(stdout);
}

static void record_say(void *arg, const char *line)
{
	const struct record_teller *t = arg;

	if (t->json)
		record_json(t, "said", "text", line);
	else
		fprintf(stderr, "zscope record: %s\n", line);
}

/* The service manager, when it started us as a service that answers. */
static void record_notify(struct record_teller *t, const char *state)
{
	struct err err;

	if (!getenv("NOTIFY_SOCKET"))
		return;
	int r = systemd_library_load(&err);
	if (r == 0) {
		systemd.notify(0, state);
	} else if (!t->told) {
		err_prefix(&err, r,
			   "the service manager cannot be told that this runs, and may end it");
		record_say(t, err.text);
		t->told = true;
	}
}

/* It hears of every tick. */
static void record_alive(void *arg, bool first)
{
	struct record_teller *t = arg;

	if (!first) {
		record_notify(t, "WATCHDOG=1");
		return;
	}
	if (t->json)
		record_json(t, "recording", "store", t->store);
	else
		fprintf(stderr, "zscope record: recording to %s\n", t->store);
	record_notify(t, "READY=1\nSTATUS=recording");
}

static int record_run(struct invocation *in, struct err *err)
{
	const struct record_options *o = in->options;
	AUTO_ROOT struct root root = { .fd = -1 };
	struct record_teller teller = { .json = in->common.json, .store = in->store };
	struct record_parts parts;
	struct recorder_options r = {
		.store_dir = in->store,
		.store = { .max_bytes = RECORD_MAX_BYTES,
			   .max_age_ns = o->max_age.value,
			   .segment_ns = o->segment.value },
		.root = &root,
		.parts = parts.list,
		.duration_ns = o->duration.value,
		.interval_ns = o->interval.value,
		.say = record_say,
		.alive = record_alive,
		.arg = &teller,
	};

	record_parts_fill(&parts, (unsigned)o->hz.value, o->no_profile);
	r.n_parts = parts.n;
	int code = record_check("interval", &o->interval, 100 * NS_PER_MS, 60 * NS_PER_S,
				"100ms to 1m", err);
	if (code == 0)
		code = record_check("segment", &o->segment, NS_PER_S, SEGMENT_MOST_NS, "1s to 10m",
				    err);
	if (code == 0)
		code = record_check("hz", &o->hz, 1, 10000, "1 to 10000", err);
	if (code < 0)
		return code;
	code = o->max_bytes ? record_parse_size(o->max_bytes, &r.store.max_bytes, err) : 0;
	if (code == 0)
		code = root_open(NULL, &root, err);
	if (code == 0) {
		envelope_read(&root, &teller.envelope);
		code = recorder_run(&r, err);
	}
	record_notify(&teller, "STOPPING=1");
	if (code == 0 && teller.json)
		record_json(&teller, "ended", NULL, NULL);
	return code < 0 ? code : STATUS_OK;
}

const struct command cmd_record = {
	.name = "record",
	.summary = "record this host, second by second, for later questions",
	.arguments = "",
	.description =
		"The flight recorder, as a foreground service: a tick of everything that zscope "
		"reads, once a second, and a profile of all cores (97 samples a second each, with "
		"kernel and user call chains), into append-only segment files of a minute. "
		"Commands with --at, --from and --to then answer for any second of the "
		"recording.\n"
		"\n"
		"It locks its memory and raises its priority where it may, leaves out detail "
		"before it misses a tick, and says so on stderr and in the recording. What this "
		"host does not offer is named and the rest is recorded. When the disk is full the "
		"oldest segments go; if that is not enough, recording goes on in memory and "
		"resumes by itself.\n"
		"\n"
		"SIGTERM, SIGINT and SIGHUP end it cleanly; after a kill or a power cut everything "
		"up to "
		"the last seconds is readable. One recorder may write to a directory. Files are "
		"readable by their owner only.\n"
		"\n"
		"With --json, stdout has one object per line, as soon as it happens, and stderr "
		"only an error that ends it: state is \"said\" with the text of each line that "
		"would go to stderr, \"recording\" with the store when the first tick is written, "
		"\"ended\" last, when it ended as asked.",
	.examples = "zscope record\n"
		    "zscope record --store /var/tmp/rec --for 10m\n"
		    "zscope record --max-bytes 500M --max-age 3d\n",
	.common = COMMON_JSON | COMMON_STORE,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct record_options),
	.run = record_run,
};

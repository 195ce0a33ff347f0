#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "audit_read.h"
#include "auto.h"
#include "captured.h"
#include "commands.h"
#include "docker_api.h"
#include "envelope.h"
#include "rec_cgroups.h"
#include "resets_read.h"
#include "timefmt.h"
#include "view_check.h"

struct check_options {
	const char *format;
	struct option_number interval;
};

static const struct option options[] = {
	OPTION(check_options, format, "format", 0, OPTION_TEXT, "text|nagios|npd",
	       "text for people (default), one line for Nagios (status 0-3), or one short line for "
	       "node-problem-detector"),
	OPTION(check_options, interval, "interval", 'i', OPTION_DURATION, "DURATION",
	       "how long to watch (default 1s)"),
};

struct check_run {
	struct tick before, after;
	struct rates rates;
	struct unknowns unknown;
	struct health_result result;
	struct offer offer;
	char loops[HEALTH_DETAIL_MAX]; /* names of units and containers that crash-loop */
	char resets[RESETS_DETAIL_MAX];
};

static void check_run_free(struct check_run *c)
{
	health_result_free(&c->result);
	unknowns_free(&c->unknown);
	rates_free(&c->rates);
	tick_free(&c->before);
	tick_free(&c->after);
}

/* What no tick tells; a row whose fact is missing is left out, and why is said. */
static size_t check_facts(const struct root *root, const char *store, struct check_run *c,
			  struct health_fact ret[2])
{
	struct health_fact loops = { .id = "crash-loops", .detail = c->loops };
	struct health_fact resets = { .id = "driver-resets", .detail = c->resets };
	struct docker_socket engines[3];
	struct err err = { 0 };
	size_t n = 0;

	if (!root->live) {
		unknowns_add(&c->unknown, "crash loops and driver resets",
			     "not looked for in a host that is not running: see zscope why --root");
		return 0;
	}
	if (!root_exists(root, "run/systemd/system") && docker_sockets(engines) == 0)
		unknowns_add(&c->unknown, "crash loops",
			     "pid 1 is not systemd and no container engine answers");
	else if (audit_read_loops(root, c->after.real_ns, &loops.value, c->loops, &c->unknown) == 0)
		ret[n++] = loops;
	if (resets_read(root, store, c->after.real_ns, &resets.value, c->resets, &err) == 0)
		ret[n++] = resets;
	else
		unknowns_add(&c->unknown, "driver resets", "%s", err.text);
	return n;
}

static int check_gather(const struct root *root, uint64_t interval_ns, const char *store,
			struct check_run *c, struct err *err)
{
	struct health_fact facts[2];
	const struct tick_source_options source = {
		.kinds = TICK_ALL & ~(TICK_KIND(REC_TASK) | TICK_KIND(REC_IRQ)),
		.thorough = true,
	};
	struct health_input in = { .tick = &c->after };

	int r = captured_pair(root, &source, interval_ns, &c->before, &c->after, &c->offer,
			      &c->unknown, err);
	if (r < 0)
		return r;
	/* the live count is not taken every second where that would cost much */
	if (c->after.rows[REC_CGROUPS].len && c->before.rows[REC_CGROUPS].len) {
		struct rec_cgroups *a = TICK_ROW(&c->before, REC_CGROUPS, rec_cgroups, 0);
		struct rec_cgroups *b = TICK_ROW(&c->after, REC_CGROUPS, rec_cgroups, 0);
		if (!(b->have & REC_CGROUPS_LIVE) && a->have & REC_CGROUPS_LIVE)
			*b = *a;
	}
	if (r == 1 && rates_compute(&c->before, &c->after, &c->rates) == 0)
		in.rates = &c->rates;
	in.facts = facts;
	in.n_facts = check_facts(root, store, c, facts);
	r = health_judge(&in, &c->result);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

static int check_status(const struct health_result *r, bool nagios)
{
	if (nagios)
		return (int)r->level; /* 0 OK, 1 warning, 2 critical, 3 unknown: the same order */
	if (r->level == HEALTH_UNKNOWN)
		return STATUS_UNKNOWN;
	return r->level == HEALTH_GREEN ? STATUS_OK : STATUS_FINDING;
}

static void check_print(const struct invocation *in, const struct root *root, const char *format,
			const struct check_run *c)
{
	AUTO_BUF struct buf out = { 0 };
	struct envelope envelope;
	struct json j;

	if (in->common.json) {
		envelope_read(root, &envelope);
		json_init(&j, &out);
		json_object(&j, NULL);
		envelope_json(&j, &envelope, "check", c->after.real_ns);
		json_object(&j, "cgroup");
		json_str(&j, "mode", cgroup_mode_name(c->offer.mode));
		json_str(&j, "memory", cgroup_memory_name(c->offer.memory));
		json_end_object(&j);
		view_check_json(&j, &c->result, &c->unknown);
		json_end_object(&j);
	} else if (strcmp(format, "nagios") == 0) {
		view_check_nagios(&out, &c->result);
	} else if (strcmp(format, "npd") == 0) {
		view_check_npd(&out, &c->result);
	} else {
		view_check_text(stdout, &in->out, &c->result, &c->unknown);
		return;
	}
	puts(buf_str(&out));
}

static int check_run(struct invocation *in, struct err *err)
{
	const struct check_options *o = in->options;
	AUTO(check_run_free) struct check_run c = { 0 };
	AUTO_ROOT struct root root = { .fd = -1 };
	const char *format = o->format ? o->format : "text";

	uint64_t interval;

	int r = command_interval(&o->interval, &interval, err);
	if (r == 0)
		r = command_root(in, &root, err);
	if (r < 0)
		return r;
	r = check_gather(&root, interval, in->store, &c, err);
	if (r < 0)
		return r;
	check_print(in, &root, format, &c);
	return check_status(&c.result, strcmp(format, "nagios") == 0);
}

const struct command cmd_check = {
	.name = "check",
	.summary = "is this node healthy? one pass, about a second",
	.arguments = "",
	.description =
		"Watches the node for a second and prints one line per question: green, yellow or "
		"red, with the number, its thresholds and what to run next. One core that is "
		"saturated in the kernel is found even where the mean of all cores looks idle. "
		"Units "
		"that crash-loop are asked of systemd, resets of network drivers in the last hour "
		"are looked for in the kernel's ring and in the recording.\n\n"
		"Exit status: 0 all green, 1 something is yellow or red, 2 nothing could be told. "
		"With --format nagios: 0 OK, 1 warning, 2 critical, 3 unknown.",
	.examples = "zscope check\nzscope check --json\nzscope check --format nagios\n"
		    "zscope check --root /mnt/captured-host\n",
	.common = COMMON_JSON | COMMON_ROOT | COMMON_STORE,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct check_options),
	.run = check_run,
};

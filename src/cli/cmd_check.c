#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audit_read.h"
#include "auto.h"
#include "capture_units.h"
#include "captured.h"
#include "census_summary.h"
#include "commands.h"
#include "envelope.h"
#include "rec_cgroups.h"
#include "resets_read.h"
#include "stream.h"
#include "timefmt.h"
#include "view_check.h"
#include "zombies.h"

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
	struct envelope envelope;
	struct census_summary census;
	char loops[HEALTH_DETAIL_MAX]; /* names of units and containers that crash-loop */
	char resets[RESETS_DETAIL_MAX];
	bool captured;
};

static void check_run_free(struct check_run *c)
{
	health_result_free(&c->result);
	census_summary_free(&c->census);
	unknowns_free(&c->unknown);
	rates_free(&c->rates);
	tick_free(&c->before);
	tick_free(&c->after);
}

/* false: it is not known whether anything crash-loops, and why is said. */
static bool check_loops(const struct root *root, struct check_run *c, struct health_fact *ret)
{
	*ret = (struct health_fact){ .id = "crash-loops", .detail = c->loops };
	if (!root->live && !root_exists(root, CAPTURED_UNITS)) {
		unknowns_add(&c->unknown, "crash loops",
			     c->captured ? "the capture has no states of units"
					 : "units have states only on a host that runs");
		return false;
	}
	int r = audit_read_loops(root, c->after.real_ns, &ret->value, c->loops, &c->unknown);
	ret->absent = r >= 0 && isnan(ret->value);
	return r >= 0;
}

/* What no tick tells. */
static size_t check_facts(const struct root *root, const char *store, struct check_run *c,
			  struct health_fact ret[2])
{
	struct health_fact resets = { .id = "driver-resets", .detail = c->resets };
	struct err err = { 0 };
	size_t n = 0;

	n += check_loops(root, c, &ret[n]);
	if (resets_read(root, store, c->after.real_ns, &resets.value, c->resets, &err) == 0)
		ret[n++] = resets;
	else
		unknowns_add(&c->unknown, "driver resets", "%s", err.text);
	return n;
}

static double check_zombie_limit(void)
{
	size_t n;
	const struct health_check *checks = health_table(&n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(checks[i].id, "memcg-zombies") == 0)
			return checks[i].yellow;
	return INFINITY;
}

/* Whose most zombies are, where there are so many that it matters: the census takes milliseconds
 * and half a microsecond per zombie. Where it cannot be taken, `zscope zombies` says why. */
static void check_owner(const struct root *root, struct check_run *c, struct health_input *in)
{
	AUTO_UNKNOWNS struct unknowns ignored = { 0 };
	AUTO_BUF struct buf bytes = { 0 };
	struct zombies_options want = { 0 };
	struct census_totals totals;

	if (!c->after.rows[REC_CGROUPS].len)
		return;
	const struct rec_cgroups *row = TICK_ROW(&c->after, REC_CGROUPS, rec_cgroups, 0);
	if (!(row->have & REC_CGROUPS_DYING) || (double)row->dying < check_zombie_limit())
		return;
	if (root->live)
		(void)zombies_read(root, &c->offer, &want, NULL, &c->census, &totals, &ignored,
				   NULL);
	else if (root_read(root, CAPTURED_CENSUS, ROOT_FILE_CAP, &bytes, NULL) == 0)
		(void)census_summary_decode(bytes.data, bytes.len, &c->census);
	if (!(c->census.have & CENSUS_GROUPS) || !c->census.groups.len)
		return;
	in->zombie_owner = c->census.groups.items[0].owner;
	in->zombie_owner_count = c->census.groups.items[0].count;
}

static int check_gather(const struct root *root, uint64_t interval_ns, const char *store,
			struct check_run *c, struct err *err)
{
	struct health_fact facts[2];
	const struct tick_source_options source = {
		.kinds = TICK_KIND(REC_CPU) | TICK_KIND(REC_CGROUPS) | TICK_KIND(REC_VMSTAT) |
			 TICK_KIND(REC_MEMINFO) | TICK_KIND(REC_PRESSURE) | TICK_KIND(REC_LOAD) |
			 TICK_KIND(REC_SOFTNET) | TICK_KIND(REC_QUOTA),
		.thorough = true,
	};
	struct health_input in = { .tick = &c->after, .unknown = &c->unknown, .facts = facts };

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
	c->captured = !root->live && root_exists(root, CAPTURED_CLOCK);
	envelope_read(root, &c->envelope);
	envelope_unknowns(&c->envelope, &c->unknown);
	if (!c->offer.mode_known)
		unknowns_add(&c->unknown, "cgroup", "the list of mounts could not be read");
	check_owner(root, c, &in);
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

/* " --root X" as a shell reads it: the command to run next is pasted. */
static void check_add_option(struct buf *out, const char *name, const char *value)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789/._-+,:@%=";

	if (!value)
		return;
	buf_addf(out, " --%s ", name);
	if (value[strspn(value, plain)] == '\0') {
		buf_add_str(out, value);
		return;
	}
	buf_add_str(out, "'");
	for (const char *p = value; *p; p++)
		if (*p == '\'')
			buf_add_str(out, "'\\''");
		else
			buf_add(out, p, 1);
	buf_add_str(out, "'");
}

static void check_print_json(struct buf *out, const struct check_run *c, const struct view_check *v)
{
	struct json j;

	json_init(&j, out);
	json_object(&j, NULL);
	envelope_json(&j, &c->envelope, "check", c->after.real_ns);
	if (c->offer.mode_known || c->offer.memory_known) {
		json_object(&j, "cgroup");
		if (c->offer.mode_known)
			json_str(&j, "mode", cgroup_mode_name(c->offer.mode));
		if (c->offer.memory_known)
			json_str(&j, "memory", cgroup_memory_name(c->offer.memory));
		json_end_object(&j);
	}
	view_check_json(&j, v);
	json_end_object(&j);
}

static void check_print(const struct invocation *in, const struct root *root, const char *format,
			const struct check_run *c)
{
	AUTO_BUF struct buf out = { 0 }, where = { 0 }, store = { 0 };
	const struct common *common = &in->common;

	check_add_option(&where, "root", in->root_name ? in->root_name : common->root);
	check_add_option(&store, "store", common->store);
	const struct view_check v = {
		.result = &c->result,
		.unknown = &c->unknown,
		.envelope = &c->envelope,
		.time_ns = c->after.real_ns,
		.captured = c->captured,
		.where = buf_str(&where),
		.store = buf_str(&store),
		.no_events = !root->live && !*in->store,
	};

	if (common->json) {
		check_print_json(&out, c, &v);
	} else if (strcmp(format, "nagios") == 0) {
		view_check_nagios(&out, &c->result);
	} else if (strcmp(format, "npd") == 0) {
		view_check_npd(&out, &c->result);
	} else {
		view_check_text(stdout, &in->out, &v);
		return;
	}
	puts(buf_str(&out));
}

/* A recording that was named and cannot be read is an error; that the usual one is not there is
 * how most hosts are. */
static int check_store(const struct invocation *in, struct err *err)
{
	struct stream *stream;

	if (!in->common.store)
		return 0;
	int r = stream_open_store(in->common.store, &stream, err);
	if (r < 0)
		return err_prefix(err, r, "--store");
	stream_close(stream);
	return 0;
}

static int check_run(struct invocation *in, struct err *err)
{
	const struct check_options *o = in->options;
	const char *format = o->format ? o->format : "text";
	AUTO(check_run_free) struct check_run c = { 0 };
	AUTO_ROOT struct root root = { .fd = -1 };
	uint64_t interval;

	if (in->common.json && o->format)
		return err_set(err, -EINVAL, "--json and --format exclude each other");
	int r = command_interval(&o->interval, &interval, err);
	if (r == 0)
		r = command_root(in, &root, err);
	if (r == 0)
		r = check_store(in, err);
	if (r == 0)
		r = check_gather(&root, interval, in->store, &c, err);
	if (r < 0)
		return r;
	check_print(in, &root, format, &c);
	return check_status(&c.result, strcmp(format, "nagios") == 0);
}

/* To Nagios status 2, that of an error, would be an alarm. */
static int check_fail(const struct invocation *in, const struct err *err)
{
	const struct check_options *o = in->options;

	if (!o || !o->format || strcmp(o->format, "nagios") != 0)
		return 0;
	printf("ZSCOPE UNKNOWN - ");
	for (const char *p = err->text; *p; p++)
		putchar(*p == '|' ? '/' : *p); /* behind a | it would be performance data */
	putchar('\n');
	return (int)HEALTH_UNKNOWN;
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
		"The verdict comes first, then the lines, worst first. A node is called healthy "
		"only if every line is known. What could not be read is a line marked ?, with the "
		"reason, and is counted in the verdict; a question that does not apply to the "
		"host (crash loops without systemd and container engine) is marked -. Three lines "
		"are essential: the time of cores in the kernel, zombie memory cgroups and the "
		"memory available. If nothing is wrong but one of them is not known, the answer "
		"is 'could not tell', status 2; if others are not known it is 'nothing is wrong "
		"in what could be read', status 0.\n\n"
		"Exit status: 0 nothing is wrong, 1 something is yellow or red, 2 could not tell. "
		"With --format nagios: 0 OK, 1 warning, 2 critical, 3 unknown or an error.",
	.examples = "zscope check\nzscope check --json\nzscope check --format nagios\n"
		    "zscope check --root /mnt/captured-host\n",
	.common = COMMON_JSON | COMMON_ROOT | COMMON_STORE,
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct check_options),
	.run = check_run,
	.fail = check_fail,
};

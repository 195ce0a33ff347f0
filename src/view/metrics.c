#include "metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "esc.h"
#include "rec_cgroups.h"
#include "rec_pressure.h"
#include "rec_quota.h"
#include "rec_self.h"
#include "rec_vmstat.h"
#include "timefmt.h"

enum {
	METRICS_MOST_OWNERS = 20,
	METRICS_MOST_QUOTAS = 64,
};

/* Decimals of a second that a value counts. */
enum { METRICS_MS = 3, METRICS_US = 6, METRICS_NS = 9 };

/* One walk over the numbers, two forms: Prometheus text, or objects of JSON. */
struct writer {
	struct buf *out;
	struct json *j;          /* NULL = text into *out */
	const char *name, *help; /* of the family, the name without _total */
	bool open, counter;
	unsigned labels; /* of this sample */
};

static const char *type_name(const struct writer *w)
{
	return w->counter ? "counter" : "gauge";
}

/* unit is part of the name already; OpenMetrics wants it said. "" = none. */
static void family(struct writer *w, const char *name, const char *unit, bool counter,
		   const char *help)
{
	const char *suffix = counter && !w->open ? "_total" : "";

	w->name = name;
	w->help = help;
	w->counter = counter;
	if (w->j)
		return;
	buf_addf(w->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, suffix, help, name, suffix,
		 type_name(w));
	if (w->open && *unit)
		buf_addf(w->out, "# UNIT %s %s\n", name, unit);
}

/* begin_sample, any labels, then its value: number or fraction. */
static void begin_sample(struct writer *w)
{
	char name[100];

	w->labels = 0;
	if (!w->j) {
		buf_add_str(w->out, w->name);
		if (w->counter)
			buf_add_str(w->out, "_total");
		return;
	}
	snprintf(name, sizeof(name), "%s%s", w->name, w->counter ? "_total" : "");
	json_object(w->j, NULL);
	json_str(w->j, "name", name);
	json_str(w->j, "type", type_name(w));
	json_str(w->j, "help", w->help);
	json_object(w->j, "labels");
}

static void label(struct writer *w, const char *key, const char *value)
{
	if (w->j) {
		json_str(w->j, key, value);
		return;
	}
	buf_add_char(w->out, w->labels++ ? ',' : '{');
	buf_add_str(w->out, key);
	buf_add_str(w->out, "=\"");
	esc_metrics(w->out, value, strlen(value));
	buf_add_char(w->out, '"');
}

static void end_sample(struct writer *w, const char *value, size_t len)
{
	if (w->j) {
		json_end_object(w->j);
		json_raw(w->j, "value", value, len);
		json_end_object(w->j);
		return;
	}
	if (w->labels)
		buf_add_char(w->out, '}');
	buf_add_char(w->out, ' ');
	buf_add(w->out, value, len);
	buf_add_char(w->out, '\n');
}

static void number(struct writer *w, uint64_t value)
{
	char text[24];
	char *at = text + sizeof(text);

	do {
		*--at = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	end_sample(w, at, (size_t)(text + sizeof(text) - at));
}

/* value in units of 10^-decimals, as seconds or the like. Exact: a float of nine digits would be
 * seconds wrong in a time of day. */
static void fraction(struct writer *w, uint64_t value, unsigned decimals)
{
	char digits[32], text[40];
	int n = snprintf(digits, sizeof(digits), "%0*" PRIu64, (int)decimals + 1, value);
	int whole = n - (int)decimals;

	n = snprintf(text, sizeof(text), "%.*s.%s", whole, digits, digits + whole);
	while (text[n - 1] == '0')
		n--;
	end_sample(w, text, (size_t)(text[n - 1] == '.' ? n - 1 : n));
}

static void plain(struct writer *w, uint64_t value)
{
	begin_sample(w);
	number(w, value);
}

static void one(struct writer *w, const char *key, const char *text, uint64_t value)
{
	begin_sample(w);
	label(w, key, text);
	number(w, value);
}

static void begin_pair(struct writer *w, const char *key, const char *text, const char *key2,
		       const char *text2)
{
	begin_sample(w);
	label(w, key, text);
	label(w, key2, text2);
}

static void write_cores(struct writer *w, const struct totals *t)
{
	char cpu[24];

	family(w, "zscope_core_saturated_seconds", "seconds", true,
	       "Seconds in which the core was at least 95 percent busy, integrated at 1 Hz, by the "
	       "mode that took most of them.");
	for (size_t i = 0; i < t->n_cores; i++) {
		snprintf(cpu, sizeof(cpu), "%zu", i);
		for (int m = 0; m < TOTALS_MODES; m++) {
			begin_pair(w, "cpu", cpu, "mode", totals_mode_name(m));
			fraction(w, t->cores[i].saturated_ns[m], METRICS_NS);
		}
	}
}

static void write_events(struct writer *w, const struct totals *t)
{
	static const char *const severities[] = { "info", "warn", "crit" };

	family(w, "zscope_net_resets", "", true,
	       "Resets of a network interface's driver, by cause.");
	for (size_t i = 0; i < t->n_nics; i++)
		for (size_t k = 0; k < TOTALS_REASONS; k++) {
			begin_pair(w, "device", t->nics[i].iface, "reason", totals_reason(k));
			number(w, t->nics[i].resets[k]);
		}
	family(w, "zscope_unit_restarts", "", true, "Restarts of a unit by the service manager.");
	for (size_t i = 0; i < t->n_units; i++)
		one(w, "unit", t->units[i].unit, t->units[i].restarts);
	family(w, "zscope_container_starts", "", true, "Containers started.");
	plain(w, t->containers);
	family(w, "zscope_events", "", true, "Events on the timeline, by source and severity.");
	for (int s = 0; s < EVENT_SOURCE_END; s++)
		for (int k = 0; k < 3; k++) {
			begin_pair(w, "source", event_source_name(s), "severity", severities[k]);
			number(w, t->events[s][k]);
		}
	family(w, "zscope_purges", "", true, "Purges of zombie memory cgroups.");
	plain(w, t->purges);
	family(w, "zscope_purged_memcgs", "", true, "Zombie memory cgroups released by purges.");
	plain(w, t->purged);
	family(w, "zscope_recorder_kmsg_gaps", "", true,
	       "Gaps in the kernel log: it was overwritten before it could be read.");
	plain(w, t->kmsg_gaps);
	family(w, "zscope_recorder_lost_samples", "", true, "Profile samples that were lost.");
	plain(w, t->lost_samples);
}

static void write_memcg(struct writer *w, const struct metrics_input *in)
{
	const struct rec_cgroups *c = in->last->rows[REC_CGROUPS].len
					      ? TICK_ROW(in->last, REC_CGROUPS, rec_cgroups, 0)
					      : NULL;

	if (c && c->have & REC_CGROUPS_TRACKED) {
		family(w, "zscope_memcg_tracked", "", false,
		       "Memory cgroups that the kernel tracks, zombies included.");
		plain(w, c->tracked);
	}
	if (c && c->have & REC_CGROUPS_LIVE) {
		family(w, "zscope_memcg_live", "", false, "Memory cgroups whose directory exists.");
		plain(w, c->live);
	}
	if (c && c->have & REC_CGROUPS_DYING) {
		family(w, "zscope_memcg_dying", "", false,
		       "Zombies: memory cgroups removed by userspace and still held by the "
		       "kernel.");
		plain(w, c->dying);
	}
	if (in->n_owners) {
		uint64_t rest = 0;
		family(w, "zscope_zombies", "", false,
		       "Zombie memory cgroups at the last census, by owner.");
		for (size_t i = 0; i < in->n_owners; i++) {
			if (i >= METRICS_MOST_OWNERS) {
				rest += in->owners[i].count;
				continue;
			}
			begin_pair(w, "owner", in->owners[i].owner, "kind", in->owners[i].kind);
			number(w, in->owners[i].count);
		}
		if (rest) {
			begin_pair(w, "owner", "other", "kind", "other");
			number(w, rest);
		}
	}
	if (in->totals->have_churn) {
		family(w, "zscope_memcg_created", "", true, "Memory cgroups made.");
		plain(w, in->totals->made);
		family(w, "zscope_memcg_removed", "", true, "Memory cgroups removed.");
		plain(w, in->totals->removed);
	}
}

static void write_reclaim(struct writer *w, const struct tick *t)
{
	const struct rec_vmstat *v;

	if (!t->rows[REC_VMSTAT].len)
		return;
	v = TICK_ROW(t, REC_VMSTAT, rec_vmstat, 0);
	if (v->have & REC_VMSTAT_PGSCAN_DIRECT && v->have & REC_VMSTAT_PGSCAN_KSWAPD) {
		family(w, "zscope_reclaim_scanned_pages", "pages", true,
		       "Pages scanned by reclaim since boot.");
		one(w, "by", "direct", v->pgscan_direct);
		one(w, "by", "kswapd", v->pgscan_kswapd);
	}
	if (v->have & REC_VMSTAT_PGSTEAL_DIRECT && v->have & REC_VMSTAT_PGSTEAL_KSWAPD) {
		family(w, "zscope_reclaim_reclaimed_pages", "pages", true,
		       "Pages that reclaim freed since boot.");
		one(w, "by", "direct", v->pgsteal_direct);
		one(w, "by", "kswapd", v->pgsteal_kswapd);
	}
	if (v->have & REC_VMSTAT_ALLOCSTALL) {
		family(w, "zscope_reclaim_stalls", "", true,
		       "Allocations that had to wait for reclaim since boot.");
		plain(w, v->allocstall);
	}
	if (v->have & REC_VMSTAT_OOM_KILL) {
		family(w, "zscope_oom_kills", "", true, "Processes killed for want of memory.");
		plain(w, v->oom_kill);
	}
}

static void write_pressure(struct writer *w, const struct tick *t)
{
	static const char *const names[PRESSURE_END] = { "cpu", "memory", "io", "irq" };

	if (!t->rows[REC_PRESSURE].len)
		return;
	family(w, "zscope_pressure_stalled_seconds", "seconds", true,
	       "Time in which some or all tasks waited for the resource, since boot.");
	for (size_t i = 0; i < t->rows[REC_PRESSURE].len; i++) {
		const struct rec_pressure *p = TICK_ROW(t, REC_PRESSURE, rec_pressure, i);
		if (p->resource >= PRESSURE_END)
			continue;
		for (int full = 0; full < 2; full++) {
			if (!(p->have & (full ? REC_PRESSURE_FULL_TOTAL : REC_PRESSURE_SOME_TOTAL)))
				continue;
			begin_pair(w, "resource", names[p->resource], "tasks",
				   full ? "all" : "some");
			fraction(w, full ? p->full_total : p->some_total, METRICS_US);
		}
	}
}

static void write_quotas(struct writer *w, const struct tick *t)
{
	size_t n = MIN_OF(t->rows[REC_QUOTA].len, (size_t)METRICS_MOST_QUOTAS);

	if (!n)
		return;
	family(w, "zscope_cgroup_throttled_seconds", "seconds", true,
	       "Time in which a cgroup's tasks waited for its CPU quota.");
	for (size_t i = 0; i < n; i++) {
		const struct rec_quota *q = TICK_ROW(t, REC_QUOTA, rec_quota, i);
		if (!(q->have & REC_QUOTA_THROTTLED_TIME) || !q->cgroup)
			continue;
		begin_sample(w);
		label(w, "cgroup", q->cgroup);
		fraction(w, q->throttled_time, METRICS_US);
	}
}

static void write_recorder(struct writer *w, const struct metrics_input *in)
{
	const struct rec_self *s =
		in->last->rows[REC_SELF].len ? TICK_ROW(in->last, REC_SELF, rec_self, 0) : NULL;

	family(w, "zscope_store_readable", "", false, "Whether the recording can be read.");
	plain(w, in->readable);
	family(w, "zscope_store_losses", "", false,
	       "Parts of the recording that could not be read.");
	plain(w, in->losses);
	if (in->to_ns) {
		family(w, "zscope_recorder_last_tick_timestamp_seconds", "seconds", false,
		       "When the recorder wrote last.");
		begin_sample(w);
		fraction(w, in->to_ns / NS_PER_MS, METRICS_MS);
	}
	if (!s)
		return;
	family(w, "zscope_recorder_ticks", "", true, "Readings taken since the recorder started.");
	plain(w, s->ticks);
	family(w, "zscope_recorder_missed_ticks", "", true, "Readings that came too late.");
	plain(w, s->missed_ticks);
	family(w, "zscope_recorder_lost_frames", "", true, "Records that could not be written.");
	plain(w, s->lost_frames);
	family(w, "zscope_recorder_cpu_seconds", "seconds", true, "CPU time of the recorder.");
	begin_sample(w);
	fraction(w, s->cpu_ns, METRICS_NS);
	family(w, "zscope_recorder_resident_bytes", "bytes", false, "Memory of the recorder.");
	plain(w, s->rss_bytes);
	family(w, "zscope_recorder_shed_level", "", false, "Detail that is left out, 0 is none.");
	plain(w, s->shed_level);
	family(w, "zscope_store_bytes", "bytes", false, "Size of the recording.");
	plain(w, s->store_bytes);
}

static void write_all(struct writer *w, const struct metrics_input *in)
{
	family(w, "zscope_build_info", "", false, "The version of zscope, always 1.");
	one(w, "version", ZSCOPE_VERSION, 1);
	write_memcg(w, in);
	write_cores(w, in->totals);
	write_events(w, in->totals);
	write_quotas(w, in->last);
	write_reclaim(w, in->last);
	write_pressure(w, in->last);
	write_recorder(w, in);
}

void metrics_write(struct buf *out, const struct metrics_input *in, bool openmetrics)
{
	struct writer w = { .out = out, .open = openmetrics };

	write_all(&w, in);
	if (openmetrics)
		buf_add_str(out, "# EOF\n");
}

void metrics_json(struct json *j, const struct metrics_input *in)
{
	struct writer w = { .j = j };

	json_array(j, "metrics");
	write_all(&w, in);
	json_end_array(j);
}

#include "view_churn.h"

#include <string.h>
#include <time.h>

#include "auto.h"
#include "numbers.h"
#include "owner.h"
#include "table.h"
#include "timefmt.h"
#include "view_reclaim.h"

enum { VIEW_CHURN_GROUPS = 10 };

static double minutes(const struct churn_summary *s)
{
	return s->to_ns > s->from_ns ? (double)(s->to_ns - s->from_ns) / 6e10 : 0;
}

static void creator_json(struct json *j, const struct churn_group *g)
{
	struct owner o;

	if (!g->creator)
		return;
	json_object(j, "creator");
	json_str(j, "comm", g->creator);
	json_i64(j, "pid", g->pid);
	if (g->ppid)
		json_i64(j, "ppid", g->ppid);
	if (g->creator_parent)
		json_str(j, "parent_comm", g->creator_parent);
	if (g->creator_cgroup) {
		json_str(j, "cgroup", g->creator_cgroup);
		owner_parse(g->creator_cgroup, strlen(g->creator_cgroup), &o);
		if (o.unit.at)
			json_str_n(j, "unit", o.unit.at, o.unit.len);
	}
	json_end_object(j);
}

void view_churn_json(struct json *j, const struct churn_summary *s)
{
	double min = minutes(s);

	json_object(j, "churn");
	json_time(j, "from", s->from_ns);
	json_time(j, "to", s->to_ns);
	json_u64(j, "lost", s->lost);
	json_bool(j, "creators_known", s->creators_known);
	json_array(j, "groups");
	vec_foreach (&s->groups, g) {
		json_object(j, NULL);
		json_str(j, "owner", g->owner);
		json_str(j, "kind", owner_kind_name(g->kind));
		json_str(j, "parent", g->parent);
		if (g->unit)
			json_str(j, "unit", g->unit);
		json_u64(j, "made", g->made);
		json_u64(j, "removed", g->removed);
		if (s->creators_known)
			json_u64(j, "released", g->released);
		if (s->creators_known)
			json_u64(j, "left_behind", churn_group_left(g));
		if (min > 0)
			json_f64(j, "made_per_min", (double)g->made / min, 2);
		if (min > 0 && g->made > 1)
			json_f64(j, "every_s", min * 60 / (double)g->made, 2);
		if (g->lifetimes)
			json_f64(j, "lifetime_s",
				 (double)g->lifetime_ns / (double)g->lifetimes / 1e9, 3);
		if (g->zombies)
			json_f64(j, "zombie_s", (double)g->zombie_ns / (double)g->zombies / 1e9, 3);
		creator_json(j, g);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

static void churn_row(struct table *t, const struct churn_summary *s, const struct churn_group *g)
{
	AUTO_BUF struct buf who = { 0 };
	char span[TIMEFMT_MAX], n[NUMBERS_MAX];
	uint64_t length = s->to_ns > s->from_ns ? s->to_ns - s->from_ns : 0;

	table_cell(t, TERM_BOLD, "%s", numbers_count(n, g->made));
	table_cell(t, TERM_PLAIN, "%s", numbers_count(n, g->removed));
	table_cell(t, TERM_PLAIN, "%s", s->creators_known ? numbers_count(n, g->released) : "?");
	table_cell(t, TERM_PLAIN, "%s",
		   s->creators_known ? numbers_count(n, churn_group_left(g)) : "?");
	table_cell(t, TERM_PLAIN, "%s", g->made > 1 ? timefmt_span(span, length / g->made) : "-");
	if (g->creator) {
		buf_addf(&who, "%s (pid %d", g->creator, g->pid);
		if (g->creator_parent)
			buf_addf(&who, ", child of %s %d", g->creator_parent, g->ppid);
		if (g->creator_cgroup)
			buf_addf(&who, ", %s", g->creator_cgroup);
		buf_add_char(&who, ')');
	} else {
		buf_add_str(&who, g->made ? "?" : "-");
	}
	table_cell_bytes(t, TERM_PLAIN, buf_str(&who), who.len);
	table_cell_bytes(t, TERM_PLAIN, g->owner, strlen(g->owner));
}

void view_churn_text(FILE *out, const struct terminal *term, const struct churn_summary *s)
{
	static const char *const heads[] = { "MADE",  "REMOVED", "RELEASED", "LEFT",
					     "EVERY", "CREATOR", "OWNER" };
	char span[TIMEFMT_MAX];
	size_t shown = 0, rest = 0;
	AUTO_TABLE struct table t = { 0 };

	timefmt_span(span, s->to_ns > s->from_ns ? s->to_ns - s->from_ns : 0);
	table_init(&t, heads, "rrrrrll", ARRAY_LEN(heads));
	vec_foreach (&s->groups, g) {
		if (!g->made && !g->removed && !g->released)
			continue; /* processes moved, no cgroup came or went */
		if (shown == VIEW_CHURN_GROUPS)
			rest++;
		else
			shown++, churn_row(&t, s, g);
	}
	if (!shown) {
		fprintf(out, "\nin %s no memory cgroup was made, removed or released\n", span);
	} else {
		fprintf(out, "\nmemory cgroups made and removed in %s, from %s:\n", span,
			timefmt_local((char[TIMEFMT_MAX]){ 0 }, s->from_ns));
		table_print(&t, out, term);
	}
	if (rest)
		fprintf(out, "... and %zu more owners (--json)\n", rest);
	if (s->lost)
		fprintf(out, "%llu events were lost\n", (unsigned long long)s->lost);
}

static void onset_json(struct json *j, const struct growth_onset *o)
{
	static const char *const bases[] = { [GROWTH_BY_INCIDENT] = "incident",
					     [GROWTH_BY_READS] = "measured",
					     [GROWTH_BY_RECLAIM] = "measured",
					     [GROWTH_BY_NOTHING] = "none" };

	json_str(j, "basis", bases[o->basis]);
	if (o->zombies)
		json_u64(j, "threshold", o->zombies);
	if (o->basis != GROWTH_BY_READS && o->basis != GROWTH_BY_RECLAIM)
		return;
	json_str(j, "measured", o->basis == GROWTH_BY_READS ? "reads" : "reclaim");
	json_f64(j, "measured_ns_per_zombie", o->ns_per_zombie, 3);
	json_u64(j, "measured_over_zombies", o->measured_over);
	json_u64(j, "slow_ns", GROWTH_SLOW_NS);
}

void view_growth_json(struct json *j, const struct growth *g)
{
	if (!g->known)
		return;
	json_f64(j, "rate_per_hour", g->rate_per_hour, 3);
	json_object(j, "forecast");
	json_time(j, "from", g->from_ns);
	json_time(j, "to", g->to_ns);
	json_u64(j, "points", g->points);
	onset_json(j, &g->onset);
	if (g->reaches_ns)
		json_time(j, "reaches", g->reaches_ns);
	if (g->doubling_hours > 0)
		json_f64(j, "doubling_hours", g->doubling_hours, 2);
	if (g->reboot_days > 0)
		json_f64(j, "reboot_lasts_days", g->reboot_days, 2);
	if (g->ram_bytes_per_day)
		json_u64(j, "ram_bytes_per_day", g->ram_bytes_per_day);
	if (g->ram_bytes_now)
		json_u64(j, "ram_bytes_now", g->ram_bytes_now);
	if (g->ram_limit_bytes)
		json_u64(j, "ram_limit_bytes", g->ram_limit_bytes);
	if (g->ram_reaches_ns)
		json_time(j, "ram_reaches", g->ram_reaches_ns);
	json_end_object(j);
}

/* "on Thursday, 2026-11-19 12:30", local time */
static const char *on_day(char ret[TIMEFMT_MAX], uint64_t ns)
{
	time_t s = (time_t)(ns / NS_PER_S);
	struct tm tm;

	if (!localtime_r(&s, &tm) || !strftime(ret, TIMEFMT_MAX, "on %A, %Y-%m-%d %H:%M", &tm))
		timefmt_local(ret, ns);
	return ret;
}

/* "about 8 days", "about 5 hours" */
static void about(FILE *out, double days)
{
	if (days >= 2)
		fprintf(out, "about %.0f days", days);
	else
		fprintf(out, "about %.*f hours", days * 24 < 2 ? 1 : 0, days * 24);
}

/* What happens at that number, and how that is known. */
static const char *onset_means(const struct growth_onset *o)
{
	switch (o->basis) {
	case GROWTH_BY_READS:
		return "where a read of memory.numa_stat takes 1 s (by what it takes here now)";
	case GROWTH_BY_RECLAIM:
		return "where one pass of reclaim in a hundred takes 1 s (by how they grew here)";
	default:
		return "the number at which the original incident's hosts stalled (not measured on "
		       "this one)";
	}
}

static void cpu_onset_text(FILE *out, const struct growth *g)
{
	char day[TIMEFMT_MAX], limit[NUMBERS_MAX];

	if (g->onset.basis == GROWTH_BY_NOTHING) {
		fprintf(out, "CPU: no number of zombies is known at which this kernel stalls\n");
		return;
	}
	numbers_count(limit, g->onset.zombies);
	if (g->reaches_ns && g->reaches_ns <= g->to_ns)
		fprintf(out, "%s zombies are reached, %s\n", limit, onset_means(&g->onset));
	else if (g->reaches_ns)
		fprintf(out, "reaches %s zombies %s: %s\n", limit, on_day(day, g->reaches_ns),
			onset_means(&g->onset));
	if (g->reboot_days > 0) {
		fprintf(out, "a reboot fixes it for ");
		about(out, g->reboot_days);
		fprintf(out, ": at this rate none becomes %s in that time\n", limit);
	}
}

static void onset_text(FILE *out, const struct growth *g)
{
	char day[TIMEFMT_MAX], ram[NUMBERS_MAX];

	cpu_onset_text(out, g);
	if (!g->ram_bytes_per_day)
		return;
	fprintf(out, "RAM: %s a day are lost to them", numbers_bytes(ram, g->ram_bytes_per_day));
	if (g->ram_bytes_now)
		fprintf(out, ", %s so far", numbers_bytes(ram, g->ram_bytes_now));
	if (g->ram_reaches_ns && g->ram_reaches_ns <= g->to_ns)
		fprintf(out, ": more than %d %% of this host's", GROWTH_RAM_PERCENT);
	else if (g->ram_reaches_ns)
		fprintf(out, "; reaches %d %% of this host's %s", GROWTH_RAM_PERCENT,
			on_day(day, g->ram_reaches_ns));
	fputc('\n', out);
}

void view_growth_text(FILE *out, const struct growth *g)
{
	char span[TIMEFMT_MAX], n[NUMBERS_MAX];

	if (!g->known)
		return;
	fprintf(out, "\ngrowth until %s: %s zombies an hour (%s censuses over %s)",
		timefmt_local((char[TIMEFMT_MAX]){ 0 }, g->to_ns),
		numbers_mean(n, g->rate_per_hour),
		numbers_count((char[NUMBERS_MAX]){ 0 }, g->points),
		timefmt_span(span, g->to_ns - g->from_ns));
	if (g->doubling_hours > 0)
		fprintf(out, ", doubles in %s",
			timefmt_span(span, (uint64_t)(g->doubling_hours * 3.6e12)));
	fputc('\n', out);
	onset_text(out, g);
}

static void footprint_json(struct json *j, const struct view_cost *v)
{
	const struct footprint *f = v->footprint;

	if (!f || !f->known)
		return;
	json_u64(j, "measured_percpu_bytes_per_zombie", f->percpu_bytes);
	json_u64(j, "measured_slab_bytes_per_zombie", f->slab_bytes);
	json_u64(j, "measured_over_zombies", f->change);
	json_u64(j, "ram_bytes", v->dying * (f->percpu_bytes + f->slab_bytes));
}

void view_cost_json(struct json *j, const struct view_cost *v)
{
	json_object(j, "cost");
	if (v->reads && v->reads->have_stat)
		json_u64(j, "memory_stat_read_ns", v->reads->stat_ns);
	if (v->reads && v->reads->have_numa_stat)
		json_u64(j, "memory_numa_stat_read_ns", v->reads->numa_stat_ns);
	if (v->percpu_bytes) {
		json_u64(j, "percpu_bytes", v->percpu_bytes);
		if (v->tracked)
			json_u64(j, "percpu_bytes_per_cgroup_at_most",
				 v->percpu_bytes / v->tracked);
	}
	footprint_json(j, v);
	if (v->reclaim)
		view_reclaim_json(j, v->reclaim);
	if (v->verdict) {
		json_u64(j, "expected_percpu_bytes_per_zombie", v->verdict->percpu_bytes);
		json_u64(j, "expected_slab_bytes_per_zombie", v->verdict->slab_bytes);
		json_str(j, "verdict", v->verdict->id);
		json_str(j, "why", v->verdict->text);
	}
	json_end_object(j);
}

void view_cost_text(FILE *out, const struct view_cost *v)
{
	const struct footprint *f = v->footprint;
	char a[NUMBERS_MAX], b[NUMBERS_MAX], c[NUMBERS_MAX];

	const char *comma = "";

	fprintf(out, "\ncost:");
	if (v->reads && v->reads->have_stat) {
		fprintf(out, " memory.stat %.2f ms", (double)v->reads->stat_ns / 1e6);
		comma = ",";
	}
	if (v->reads && v->reads->have_numa_stat) {
		fprintf(out, "%s memory.numa_stat %.2f ms", comma,
			(double)v->reads->numa_stat_ns / 1e6);
		comma = ",";
	}
	if (v->percpu_bytes)
		fprintf(out, "%s Percpu %s", comma, numbers_bytes(a, v->percpu_bytes));
	fputc('\n', out);
	if (f && f->known)
		fprintf(out,
			"each zombie took %s of per-core memory and %s of slab here (measured "
			"while "
			"%s came or went): %s in all\n",
			numbers_bytes(a, f->percpu_bytes), numbers_bytes(b, f->slab_bytes),
			numbers_count(c, f->change),
			numbers_bytes((char[NUMBERS_MAX]){ 0 },
				      v->dying * (f->percpu_bytes + f->slab_bytes)));
	else if (v->verdict)
		fprintf(out,
			"expected of each zombie on such a kernel: %s of per-core memory, %s of "
			"slab (not measured here)\n",
			numbers_bytes(a, v->verdict->percpu_bytes),
			numbers_bytes(b, v->verdict->slab_bytes));
	if (v->verdict)
		fprintf(out, "%s\n", v->verdict->text);
}

#include "view_cores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "timefmt.h"

enum {
	VIEW_CORES_NAME = 3,
	VIEW_CORES_COLUMN = 7, /* "100.00" and the blank before it */
	VIEW_CORES_BAR = 20,
	VIEW_CORES_LEAST_BAR = 5,
};

struct view_cores {
	FILE *out;
	const struct terminal *term;
	int bar;        /* characters */
	unsigned shown; /* a bit for each of the columns */
};

static const struct {
	const char *name;
	size_t offset;
} columns[] = {
	{ "usr", offsetof(struct rate_cpu, usr) },
	{ "nice", offsetof(struct rate_cpu, nice) },
	{ "sys", offsetof(struct rate_cpu, sys) },
	{ "iowait", offsetof(struct rate_cpu, iowait) },
	{ "irq", offsetof(struct rate_cpu, irq) },
	{ "soft", offsetof(struct rate_cpu, soft) },
	{ "steal", offsetof(struct rate_cpu, steal) },
	{ "guest", offsetof(struct rate_cpu, guest) },
	{ "gnice", offsetof(struct rate_cpu, gnice) },
	{ "idle", offsetof(struct rate_cpu, idle) },
};

/* What a narrow terminal goes without, the first of them first; the bar tells their sum. */
static const unsigned dispensable[] = { 8, 7, 1, 4, 3, 6, 5, 0, 2, 9 };

static double view_cores_value(const struct rate_cpu *c, size_t column)
{
	return *(const double *)((const char *)c + columns[column].offset);
}

static enum term_color view_cores_color(const struct rate_cpu *c)
{
	double busy = rate_cpu_busy(c);

	if (busy >= RATE_SATURATED_PERCENT)
		return rate_cpu_kernel(c) >= 50 ? TERM_RED : TERM_YELLOW;
	return busy >= 50 ? TERM_CYAN : TERM_GREEN;
}

/* '#' kernel, '=' user, '~' stolen, '.' neither: readable without colour too. */
static void view_cores_bar(char ret[VIEW_CORES_BAR + 1], const struct rate_cpu *c, int width)
{
	double per = 100.0 / width, busy = rate_cpu_busy(c);
	int kernel = (int)lround(rate_cpu_kernel(c) / per);
	int ours = (int)lround((busy - c->steal) / per);
	int all = (int)lround(busy / per);

	for (int i = 0; i < width; i++)
		ret[i] = i < kernel ? '#' : i < ours ? '=' : i < all ? '~' : '.';
	ret[width] = '\0';
}

/* Of one width in every second, so that nothing jumps: "100.00" and a blank. */
static void view_cores_row(const struct view_cores *v, const char *name, const struct rate_cpu *c)
{
	enum term_color color = view_cores_color(c);
	const char *on = terminal_on(v->term, color), *off = terminal_off(v->term);
	char bar[VIEW_CORES_BAR + 1];

	fprintf(v->out, "%s%3s%s", on, name, off);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		if (v->shown >> i & 1)
			fprintf(v->out, " %6.2f", view_cores_value(c, i));
	view_cores_bar(bar, c, v->bar);
	fprintf(v->out, " %s%s%s\n", on, bar, off);
}

static void view_cores_core(const struct view_cores *v, const struct rate_cpu *c)
{
	char name[24];

	snprintf(name, sizeof(name), "%llu", (unsigned long long)c->cpu);
	view_cores_row(v, name, c);
}

/* The time of a reading; ticks fall on whole seconds, a few microseconds to either side. */
static void view_cores_time(char ret[TIMEFMT_MAX], const struct rates *r, uint64_t ns, bool date)
{
	bool fine = r->interval_ns < 900 * NS_PER_MS;
	uint64_t near = ns + (fine ? NS_PER_MS / 2 : 5 * NS_PER_MS);
	size_t len = strlen(date ? timefmt_local(ret, near) : timefmt_clock(ret, near));

	if (fine)
		snprintf(ret + len, TIMEFMT_MAX - len, ".%03u",
			 (unsigned)(near / NS_PER_MS % 1000));
}

static void view_cores_head(const struct view_cores *v, const struct rates *r)
{
	const char *bold = terminal_on(v->term, TERM_BOLD), *off = terminal_off(v->term);
	char from[TIMEFMT_MAX], to[TIMEFMT_MAX], length[TIMEFMT_MAX];

	if (r->gap)
		fprintf(v->out, "── gap: no reading for %s; the mean over them ──\n",
			timefmt_span(length, r->interval_ns));
	view_cores_time(from, r, r->from_ns, true);
	view_cores_time(to, r, r->to_ns, false);
	fprintf(v->out, "%s–%s   # kernel  = user  ~ steal\n%scpu", from, to, bold);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		if (v->shown >> i & 1)
			fprintf(v->out, " %6s", columns[i].name);
	fprintf(v->out, " busy%s\n", off);
}

static void view_cores_offline(FILE *out, const struct rates *r)
{
	vec_foreach (&r->offline, cpu)
		fprintf(out, "%s%llu", cpu == r->offline.items ? "offline: " : ", ",
			(unsigned long long)*cpu);
	if (r->offline.len)
		fputc('\n', out);
}

/* A line per reason. */
static void view_cores_unknown(FILE *out, const struct rates *r)
{
	for (unsigned why = 0; why < RATE_MISSING_END; why++) {
		const char *before = "not known: cpu ";
		vec_foreach (&r->unknown, it) {
			if (it->why != why)
				continue;
			fprintf(out, "%s%llu", before, (unsigned long long)it->cpu);
			before = ", ";
		}
		if (before[0] == ',')
			fprintf(out, " (%s)\n", rate_missing_why(why));
	}
}

static int view_cores_by_busy(const void *a, const void *b)
{
	const struct rate_cpu *x = *(const struct rate_cpu *const *)a;
	const struct rate_cpu *y = *(const struct rate_cpu *const *)b;
	double dx = rate_cpu_busy(x), dy = rate_cpu_busy(y);

	return dx != dy ? (dx < dy ? 1 : -1) : (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

/* More cores than lines: the busiest are what one looks for. */
static void view_cores_busiest(const struct view_cores *v, const struct rates *r, size_t most)
{
	AUTO_FREE const struct rate_cpu **order = calloc(r->cpus.len, sizeof(const void *));

	if (!order)
		return;
	for (size_t i = 0; i < r->cpus.len; i++)
		order[i] = &r->cpus.items[i];
	qsort(order, r->cpus.len, sizeof(const void *), view_cores_by_busy);
	for (size_t i = 0; i < most; i++)
		view_cores_core(v, order[i]);
	fprintf(v->out, "%zu more, none above %.1f %% busy\n", r->cpus.len - most,
		rate_cpu_busy(order[most]));
}

/* As many columns as there is room for beside a short bar; what is left makes the bar longer. */
static struct view_cores view_cores_fit(FILE *out, const struct terminal *term)
{
	struct view_cores v = { .out = out,
				.term = term,
				.bar = VIEW_CORES_BAR,
				.shown = (1U << ARRAY_LEN(columns)) - 1 };
	int width = (int)MIN_OF(term->width, 1000u);
	int taken = VIEW_CORES_NAME + 1 + VIEW_CORES_COLUMN * (int)ARRAY_LEN(columns);

	if (!term->tty)
		return v;
	for (size_t i = 0; i < ARRAY_LEN(dispensable); i++) {
		if (taken + VIEW_CORES_LEAST_BAR <= width)
			break;
		v.shown &= ~(1U << dispensable[i]);
		taken -= VIEW_CORES_COLUMN;
	}
	v.bar = MAX_OF(MIN_OF(width - taken, (int)VIEW_CORES_BAR), 1);
	return v;
}

/* Lines of a terminal that a text takes; a character of several bytes takes one place. */
static size_t view_cores_lines(const char *text, size_t width)
{
	size_t lines = 0, places = 0;

	for (; *text; text++) {
		if (*text == '\n') {
			lines += places ? (places + width - 1) / width : 1;
			places = 0;
		} else {
			places += ((unsigned char)*text & 0xc0) != 0x80;
		}
	}
	return lines;
}

static size_t view_cores_measure(const struct view_cores *v, const struct rates *r,
				 void (*part)(const struct view_cores *, const struct rates *))
{
	static const struct terminal plain = { 0 };
	struct view_cores measured = { .term = &plain, .shown = v->shown };
	AUTO_FREE char *text = NULL;
	size_t len;

	measured.out = open_memstream(&text, &len);
	if (!measured.out)
		return 0;
	part(&measured, r);
	fclose(measured.out);
	return text ? view_cores_lines(text, MAX_OF(v->term->width, 1u)) : 0;
}

static void view_cores_foot(const struct view_cores *v, const struct rates *r)
{
	view_cores_offline(v->out, r);
	view_cores_unknown(v->out, r);
}

void view_cores_text(FILE *out, const struct terminal *term, const struct rates *r, size_t lines)
{
	struct view_cores v = view_cores_fit(out, term);
	size_t other = 1; /* all */

	if (lines)
		other += view_cores_measure(&v, r, view_cores_head) +
			 view_cores_measure(&v, r, view_cores_foot);
	view_cores_head(&v, r);
	view_cores_row(&v, "all", &r->all);
	if (lines && other + r->cpus.len > lines)
		view_cores_busiest(&v, r, lines > other + 2 ? lines - other - 1 : 1);
	else
		vec_foreach (&r->cpus, it)
			view_cores_core(&v, it);
	view_cores_foot(&v, r);
}

static void view_cores_members(struct json *j, const struct rate_cpu *c)
{
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		json_f64(j, columns[i].name, view_cores_value(c, i), 2);
}

static void view_cores_unknown_json(struct json *j, const struct rates *r)
{
	char what[32];

	json_array(j, "unknown");
	vec_foreach (&r->unknown, it) {
		snprintf(what, sizeof(what), "cpu %llu", (unsigned long long)it->cpu);
		json_object(j, NULL);
		json_str(j, "what", what);
		json_str(j, "why", rate_missing_why(it->why));
		json_end_object(j);
	}
	json_end_array(j);
}

void view_cores_json(struct json *j, const struct envelope *e, const struct rates *r)
{
	json_object(j, NULL);
	envelope_json(j, e, "cores", r->to_ns);
	json_time(j, "from", r->from_ns);
	json_f64(j, "seconds", (double)r->interval_ns / 1e9, 3);
	if (r->gap)
		json_bool(j, "gap", true);
	json_object(j, "all");
	view_cores_members(j, &r->all);
	json_end_object(j);
	json_array(j, "cpus");
	vec_foreach (&r->cpus, it) {
		json_object(j, NULL);
		json_u64(j, "cpu", it->cpu);
		view_cores_members(j, it);
		json_end_object(j);
	}
	json_end_array(j);
	json_array(j, "saturated");
	vec_foreach (&r->cpus, it)
		if (rate_cpu_busy(it) >= RATE_SATURATED_PERCENT)
			json_u64(j, NULL, it->cpu);
	json_end_array(j);
	json_array(j, "offline");
	vec_foreach (&r->offline, cpu)
		json_u64(j, NULL, *cpu);
	json_end_array(j);
	view_cores_unknown_json(j, r);
	json_end_object(j);
}

/* Of one width, because each span is shown when it has ended: no row waits for the widest. */
void view_hot_head(FILE *out)
{
	fprintf(out, "%-19s  %-8s  %7s  %4s  %5s  %5s  %5s  %5s  %9s\n", "from", "to", "seconds",
		"cpu", "busy", "sys", "soft", "usr", "all cores");
}

void view_hot_row(FILE *out, const struct terminal *term, const struct hot_span *span)
{
	const char *red = terminal_on(term, TERM_RED), *off = terminal_off(term);
	char from[TIMEFMT_MAX], to[TIMEFMT_MAX];

	fprintf(out, "%-19s  %-8s  %7.0f  %s%4llu%s  %s%5.1f%s  %5.1f  %5.1f  %5.1f  %9.1f\n",
		timefmt_local(from, span->from_ns), timefmt_clock(to, span->to_ns),
		(double)(span->to_ns - span->from_ns) / 1e9, red, (unsigned long long)span->cpu,
		off, red, span->busy, off, span->sys, span->soft, span->usr, span->host_busy);
}

void view_hot_none(FILE *out, uint64_t samples, uint64_t from_ns, uint64_t to_ns)
{
	char from[TIMEFMT_MAX], to[TIMEFMT_MAX];

	fprintf(out, "no core was hot while the mean was low, in %llu sample%s",
		(unsigned long long)samples, samples == 1 ? "" : "s");
	if (samples)
		fprintf(out, " of %s to %s", timefmt_local(from, from_ns),
			timefmt_clock(to, to_ns));
	fputc('\n', out);
}

void view_hot_few_cores(FILE *out, size_t cores)
{
	if (cores == 1)
		fputs("with 1 core a busy core is the whole machine, and no mean hides it: see "
		      "`zscope cores`\n",
		      out);
	else if (cores && RATE_SATURATED_PERCENT / (double)cores > RATE_HIDDEN_PERCENT * 0.9)
		fprintf(out,
			"with %zu cores one busy core is half of the machine, and the mean hardly "
			"hides it: see `zscope cores`\n",
			cores);
}

void view_hot_json(struct json *j, const struct envelope *e, const struct hot_span *span)
{
	json_object(j, NULL);
	envelope_json(j, e, "cores", span->to_ns);
	json_object(j, "hot");
	json_u64(j, "cpu", span->cpu);
	json_time(j, "from", span->from_ns);
	json_time(j, "to", span->to_ns);
	json_f64(j, "busy", span->busy, 2);
	json_f64(j, "usr", span->usr, 2);
	json_f64(j, "sys", span->sys, 2);
	json_f64(j, "soft", span->soft, 2);
	json_f64(j, "all", span->host_busy, 2);
	json_end_object(j);
	json_end_object(j);
}

#include "view_cores.h"

#include <math.h>
#include <string.h>

#include "auto.h"
#include "table.h"
#include "timefmt.h"

enum { VIEW_CORES_BAR = 20, VIEW_CORES_LEAST = 5, VIEW_CORES_COLUMNS = 74 };

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

/* '#' kernel, '=' user, '.' idle: readable without colour too. */
static void view_cores_bar(char ret[VIEW_CORES_BAR + 1], const struct rate_cpu *c, int width)
{
	double per = 100.0 / width;
	int kernel = (int)lround(rate_cpu_kernel(c) / per);
	int busy = (int)lround(rate_cpu_busy(c) / per);

	for (int i = 0; i < width; i++)
		ret[i] = i < kernel ? '#' : i < busy ? '=' : '.';
	ret[width] = '\0';
}

static void view_cores_row(struct table *t, const char *name, const struct rate_cpu *c, int width)
{
	char bar[VIEW_CORES_BAR + 1];
	enum term_color color = view_cores_color(c);

	table_cell(t, color, "%s", name);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		table_cell(t, TERM_PLAIN, "%.2f", view_cores_value(c, i));
	view_cores_bar(bar, c, width);
	table_cell(t, color, "%s", bar);
}

void view_cores_text(FILE *out, const struct terminal *term, const struct rates *r)
{
	static const char *const heads[] = { "cpu",    "usr",   "nice", "sys",
					     "iowait", "irq",   "soft", "steal",
					     "guest",  "gnice", "idle", "#kernel =user" };
	/* the columns take 73 characters; a terminal of 80 gets a bar of a third */
	int room =
		term->tty ? (int)MIN_OF(term->width, 1000u) - VIEW_CORES_COLUMNS : VIEW_CORES_BAR;
	int width = room < VIEW_CORES_LEAST ? VIEW_CORES_LEAST : MIN_OF(room, (int)VIEW_CORES_BAR);
	AUTO_TABLE struct table t;
	char time[TIMEFMT_MAX], name[24];

	table_init(&t, heads, "rrrrrrrrrrrl", ARRAY_LEN(heads));
	view_cores_row(&t, "all", &r->all, width);
	vec_foreach (&r->cpus, it) {
		snprintf(name, sizeof(name), "%llu", (unsigned long long)it->cpu);
		view_cores_row(&t, name, it, width);
	}
	fprintf(out, "%s\n", timefmt_local(time, r->to_ns));
	table_print(&t, out, term);
	vec_foreach (&r->offline, cpu)
		fprintf(out, "%s%llu", cpu == r->offline.items ? "offline: " : ", ",
			(unsigned long long)*cpu);
	if (r->offline.len)
		fputc('\n', out);
}

static void view_cores_members(struct json *j, const struct rate_cpu *c)
{
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		json_f64(j, columns[i].name, view_cores_value(c, i), 2);
}

void view_cores_json(struct json *j, const struct envelope *e, const struct rates *r)
{
	json_object(j, NULL);
	envelope_json(j, e, "cores", r->to_ns);
	json_f64(j, "seconds", (double)r->interval_ns / 1e9, 3);
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

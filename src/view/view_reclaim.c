#include "view_reclaim.h"

#include <string.h>

#include "auto.h"
#include "esc.h"
#include "numbers.h"
#include "owner.h"
#include "table.h"
#include "timefmt.h"

enum { VIEW_RECLAIM_ROWS = 10, VIEW_RECLAIM_PAYERS = 5 };

static void payer_json(struct json *j, const struct reclaim_payer_row *p)
{
	struct owner o;

	json_object(j, NULL);
	json_i64(j, "pid", p->pid);
	json_str(j, "comm", p->comm);
	if (p->cgroup) {
		json_str(j, "cgroup", p->cgroup);
		owner_parse(p->cgroup, strlen(p->cgroup), &o);
		if (o.unit.at)
			json_str_n(j, "unit", o.unit.at, o.unit.len);
	}
	json_u64(j, "passes", p->passes);
	json_u64(j, "total_ns", p->total_ns);
	if (p->max_ns)
		json_u64(j, "max_ns", p->max_ns);
	json_end_object(j);
}

static void row_json(struct json *j, const struct reclaim_summary *s, size_t at)
{
	const struct reclaim_row *r = &s->rows.items[at];

	json_object(j, NULL);
	json_str(j, "kind", reclaim_kind_name(r->kind));
	if (r->cgroup)
		json_u64(j, "cgroup", r->cgroup);
	if (r->path)
		json_str(j, "path", r->path);
	json_u64(j, "passes", r->passes);
	json_str(j, "times", r->kind == RECLAIM_KIND_KSWAPD ? "cpu" : "wall");
	json_u64(j, "total_ns", r->total_ns);
	json_u64(j, "p50_ns", reclaim_row_percentile(r, 0.50));
	json_u64(j, "p99_ns", reclaim_row_percentile(r, 0.99));
	json_u64(j, "max_ns", r->max_ns);
	if (r->kind != RECLAIM_KIND_KSWAPD) /* the kernel does not tell */
		json_u64(j, "freed_bytes", r->bytes);
	if (r->zombies_known)
		json_u64(j, "zombies_below", r->zombies);
	json_array(j, "payers");
	vec_foreach (&s->payers, p)
		if (p->row == at)
			payer_json(j, p);
	json_end_array(j);
	json_end_object(j);
}

void view_reclaim_json(struct json *j, const struct reclaim_summary *s)
{
	json_object(j, "reclaim");
	json_time(j, "from", s->from_ns);
	json_time(j, "to", s->to_ns);
	json_u64(j, "passes", reclaim_summary_passes(s));
	json_u64(j, "lost", s->lost);
	json_u64(j, "lost_payers", s->lost_payers);
	json_array(j, "groups");
	for (size_t i = 0; i < s->rows.len; i++)
		row_json(j, s, i);
	json_end_array(j);
	json_end_object(j);
}

static void where_cell(struct table *t, const struct reclaim_row *r)
{
	if (r->kind == RECLAIM_KIND_LIMIT && r->path)
		table_cell(t, TERM_PLAIN, "%s is at its limit", r->path);
	else if (r->kind == RECLAIM_KIND_LIMIT)
		table_cell(t, TERM_PLAIN, "cgroup %llu is at its limit",
			   (unsigned long long)r->cgroup);
	else if (r->kind == RECLAIM_KIND_ASKED)
		table_cell(t, TERM_PLAIN, "asked for (memory.reclaim, memory.force_empty)");
	else if (r->kind == RECLAIM_KIND_DIRECT)
		table_cell(t, TERM_PLAIN, "the host is short of memory: direct");
	else
		table_cell(t, TERM_PLAIN, "the host is short of memory: kswapd, its CPU time");
}

static void payers_text(FILE *out, const struct reclaim_summary *s)
{
	char took[TIMEFMT_MAX], n[NUMBERS_MAX];
	unsigned shown = 0;

	vec_foreach (&s->payers, p) {
		AUTO_BUF struct buf who = { 0 };
		if (s->rows.items[p->row].kind == RECLAIM_KIND_KSWAPD)
			continue;
		if (shown++ == VIEW_RECLAIM_PAYERS) {
			fprintf(out, "  ... (--json lists all)\n");
			return;
		}
		esc_tty(&who, p->comm, strlen(p->comm));
		buf_addf(&who, " (pid %d", p->pid);
		if (p->cgroup) {
			buf_add_str(&who, ", ");
			esc_tty(&who, p->cgroup, strlen(p->cgroup));
		}
		fprintf(out, "  paid by %s): %s in %s passes\n", buf_str(&who),
			timefmt_span(took, p->total_ns), numbers_count(n, p->passes));
	}
}

void view_reclaim_text(FILE *out, const struct terminal *term, const struct reclaim_summary *s)
{
	static const char *const heads[] = { "PASSES", "TOTAL", "P50",     "P99",
					     "MAX",    "FREED", "ZOMBIES", "RECLAIM" };
	char a[TIMEFMT_MAX], b[NUMBERS_MAX];
	AUTO_TABLE struct table t = { 0 };

	if (!s->rows.len) {
		fprintf(out, "\nno reclaim happened while watching: its cost could not be "
			     "measured\n");
		return;
	}
	fprintf(out, "\nmemory reclaim in %s, from %s:\n",
		timefmt_span(a, s->to_ns - MIN_OF(s->to_ns, s->from_ns)),
		timefmt_local((char[TIMEFMT_MAX]){ 0 }, s->from_ns));
	table_init(&t, heads, "rrrrrrrl", ARRAY_LEN(heads));
	for (size_t i = 0; i < s->rows.len && i < VIEW_RECLAIM_ROWS; i++) {
		const struct reclaim_row *r = &s->rows.items[i];
		const uint64_t times[] = { r->total_ns, reclaim_row_percentile(r, 0.50),
					   reclaim_row_percentile(r, 0.99), r->max_ns };
		table_cell(&t, TERM_BOLD, "%s", numbers_count(b, r->passes));
		for (size_t k = 0; k < ARRAY_LEN(times); k++)
			table_cell(&t, TERM_PLAIN, "%s", timefmt_span(a, times[k]));
		if (r->kind == RECLAIM_KIND_KSWAPD)
			table_cell(&t, TERM_PLAIN, "?");
		else
			table_cell(&t, TERM_PLAIN, "%s", numbers_bytes(b, r->bytes));
		table_cell(&t, TERM_PLAIN, "%s",
			   r->zombies_known ? numbers_count(b, r->zombies) : "?");
		where_cell(&t, r);
	}
	table_print(&t, out, term);
	payers_text(out, s);
	if (s->lost)
		fprintf(out, "%s passes could not be counted\n", numbers_count(b, s->lost));
}

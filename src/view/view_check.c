#include "view_check.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "auto.h"
#include "esc.h"
#include "table.h"

static const char *view_check_mark(enum health_level level)
{
	static const char *const marks[] = { "ok", "WARN", "BAD", "?" };
	return marks[level];
}

static enum term_color view_check_color(enum health_level level)
{
	static const enum term_color colors[] = { TERM_GREEN, TERM_YELLOW, TERM_RED, TERM_DIM };
	return colors[level];
}

/* What a row says beside its number, and for what is not green the command to run next. */
static void view_check_detail(struct buf *out, const struct health_line *line)
{
	bool told = line->level != HEALTH_UNKNOWN;

	buf_add_str(out, told ? line->detail : "");
	if (told && line->level != HEALTH_GREEN)
		buf_addf(out, "%s→ %s", *line->detail ? "  " : "", line->check->next);
}

static void view_check_row(struct table *t, const struct health_line *line)
{
	const struct health_check *c = line->check;
	const char *gap = *c->unit ? " " : "";
	bool told = line->level != HEALTH_UNKNOWN, fine = line->level == HEALTH_GREEN;

	table_cell(t, view_check_color(line->level), "%s", view_check_mark(line->level));
	table_cell(t, TERM_PLAIN, "%s", c->title);
	if (told)
		table_cell(t, fine ? TERM_PLAIN : view_check_color(line->level), "%.*f%s%s",
			   (int)c->decimals, line->value, gap, c->unit);
	else
		table_cell(t, TERM_DIM, "unknown");
	const char *sign = c->below ? "≤" : "≥";
	if (isfinite(c->red))
		table_cell(t, TERM_DIM, "%s %g / %g%s%s", sign, c->yellow, c->red, gap, c->unit);
	else
		table_cell(t, TERM_DIM, "%s %g / –%s%s", sign, c->yellow, gap, c->unit);
	AUTO_BUF struct buf more = { 0 };
	view_check_detail(&more, line);
	table_cell_bytes(t, TERM_PLAIN, buf_str(&more), more.len);
}

static void view_check_summary(FILE *out, const struct terminal *term,
			       const struct health_result *r)
{
	unsigned counts[4] = { 0 };
	static const char *const words[] = { "healthy", "watch this node", "this node is sick",
					     "could not tell" };

	vec_foreach (&r->lines, it)
		counts[it->level]++;
	fprintf(out, "%s%s%s: %u green, %u yellow, %u red, %u unknown\n",
		terminal_on(term, view_check_color(r->level)), words[r->level], terminal_off(term),
		counts[HEALTH_GREEN], counts[HEALTH_YELLOW], counts[HEALTH_RED],
		counts[HEALTH_UNKNOWN]);
}

/* A narrow terminal cuts the last column, which has what to do: for what is wrong it is said in
 * full. */
static void view_check_findings(FILE *out, const struct terminal *term,
				const struct health_result *r)
{
	vec_foreach (&r->lines, it) {
		AUTO_BUF struct buf more = { 0 };
		if (it->level != HEALTH_YELLOW && it->level != HEALTH_RED)
			continue;
		view_check_detail(&more, it);
		fprintf(out, "%s%s%s: ", terminal_on(term, view_check_color(it->level)),
			it->check->title, terminal_off(term));
		terminal_text(out, buf_str(&more));
		fputc('\n', out);
	}
}

void view_check_text(FILE *out, const struct terminal *term, const struct health_result *r,
		     const struct unknowns *unknown)
{
	static const char *const heads[] = { "", "what", "now", "yellow / red", "detail" };
	AUTO_TABLE struct table t;

	table_init(&t, heads, "llrll", ARRAY_LEN(heads));
	vec_foreach (&r->lines, it)
		view_check_row(&t, it);
	table_print(&t, out, term);
	if (term->tty && table_is_cut(&t, term))
		view_check_findings(out, term, r);
	vec_foreach (&unknown->list, it) {
		AUTO_BUF struct buf line = { 0 };
		esc_tty(&line, it->what, strlen(it->what));
		buf_add_str(&line, ": ");
		esc_tty(&line, it->why, strlen(it->why));
		fprintf(out, "%snot known: %s%s\n", terminal_on(term, TERM_DIM), buf_str(&line),
			terminal_off(term));
	}
	view_check_summary(out, term, r);
}

void view_check_json(struct json *j, const struct health_result *r, const struct unknowns *unknown)
{
	json_str(j, "status", health_level_name(r->level));
	json_array(j, "lines");
	vec_foreach (&r->lines, it) {
		json_object(j, NULL);
		json_str(j, "id", it->check->id);
		json_str(j, "title", it->check->title);
		json_str(j, "status", health_level_name(it->level));
		if (it->level != HEALTH_UNKNOWN) {
			json_f64(j, "value", it->value, 2);
			json_str(j, "detail", it->detail);
		}
		json_str(j, "unit", it->check->unit);
		json_f64(j, "yellow", it->check->yellow, 2);
		json_f64(j, "red", it->check->red, 2);
		json_str(j, "worse", it->check->below ? "below" : "above");
		json_str(j, "next", it->check->next);
		json_str(j, "source", it->check->source);
		json_end_object(j);
	}
	json_end_array(j);
	unknowns_json(j, unknown);
}

static const struct health_line *view_check_worst(const struct health_result *r)
{
	const struct health_line *worst = NULL;

	vec_foreach (&r->lines, it)
		if (it->level == r->level && !worst)
			worst = it;
	return worst;
}

static void view_check_headline(struct buf *out, const struct health_result *r)
{
	const struct health_line *worst = view_check_worst(r);

	if (r->level == HEALTH_GREEN || r->level == HEALTH_UNKNOWN || !worst) {
		buf_add_str(out, r->level == HEALTH_GREEN ? "healthy" : "could not tell");
		return;
	}
	buf_addf(out, "%s %.*f%s", worst->check->title, (int)worst->check->decimals, worst->value,
		 worst->check->unit);
}

void view_check_nagios(struct buf *out, const struct health_result *r)
{
	static const char *const words[] = { "OK", "WARNING", "CRITICAL", "UNKNOWN" };

	buf_addf(out, "ZSCOPE %s - ", words[r->level]);
	view_check_headline(out, r);
	buf_add_str(out, " |");
	vec_foreach (&r->lines, it) {
		if (it->level == HEALTH_UNKNOWN)
			continue;
		const struct health_check *c = it->check;
		/* a range "N:" warns below N */
		const char *colon = c->below ? ":" : "";
		buf_addf(out, " %s=%.2f%s;%g%s;", c->id, it->value,
			 strcmp(c->unit, "%") == 0 ? "%" : "", c->yellow, colon);
		if (isfinite(c->red))
			buf_addf(out, "%g%s", c->red, colon);
	}
}

void view_check_npd(struct buf *out, const struct health_result *r)
{
	AUTO_BUF struct buf line = { 0 };

	view_check_headline(&line, r);
	buf_add(out, buf_str(&line), MIN_OF(line.len, (size_t)80));
}

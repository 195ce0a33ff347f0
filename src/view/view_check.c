#include "view_check.h"

#include <math.h>
#include <string.h>

#include "auto.h"
#include "esc.h"
#include "table.h"
#include "timefmt.h"

enum { VIEW_CHECK_NPD_MAX = 80, VIEW_CHECK_MOST_NAMES = 4 };

/* Worst first: what is wrong, what is not known, what is fine, what does not apply. */
static const enum health_level view_check_order[] = { HEALTH_RED, HEALTH_YELLOW, HEALTH_UNKNOWN,
						      HEALTH_GREEN, HEALTH_ABSENT };

static const char *view_check_mark(enum health_level level)
{
	static const char *const marks[] = { "ok", "WARN", "BAD", "?", "-" };
	return marks[level];
}

static enum term_color view_check_color(enum health_level level)
{
	static const enum term_color colors[] = { TERM_GREEN, TERM_YELLOW, TERM_RED, TERM_CYAN,
						  TERM_DIM };
	return colors[level];
}

static bool view_check_is_wrong(const struct health_line *line)
{
	return line->level == HEALTH_YELLOW || line->level == HEALTH_RED;
}

static bool view_check_is_told(const struct health_line *line)
{
	return line->level == HEALTH_GREEN || view_check_is_wrong(line);
}

/* The command to run next, as it can be pasted. */
static void view_check_next(struct buf *out, const struct view_check *v,
			    const struct health_check *c)
{
	bool events = strcmp(c->next, "zscope events") == 0;

	buf_addf(out, "%s%s", events && v->no_events ? "zscope why" : c->next, v->where);
	if (events)
		buf_add_str(out, v->store);
}

static void view_check_limits(struct table *t, const struct health_check *c)
{
	const char *sign = c->below ? "≤" : "≥", *gap = *c->unit ? " " : "";

	if (isfinite(c->red))
		table_cell(t, TERM_DIM, "%s %g / %g%s%s", sign, c->yellow, c->red, gap, c->unit);
	else
		table_cell(t, TERM_DIM, "%s %g%s%s, no red", sign, c->yellow, gap, c->unit);
}

static void view_check_row(struct table *t, const struct view_check *v,
			   const struct health_line *line)
{
	const struct health_check *c = line->check;
	bool wrong = view_check_is_wrong(line);

	table_cell(t, view_check_color(line->level), "%s", view_check_mark(line->level));
	table_cell(t, TERM_PLAIN, "%s", c->title);
	if (view_check_is_told(line))
		table_cell(t, wrong ? view_check_color(line->level) : TERM_PLAIN, "%.*f%s%s",
			   (int)c->decimals, line->value, *c->unit ? " " : "", c->unit);
	else
		table_cell(t, TERM_DIM, line->level == HEALTH_ABSENT ? "n/a" : "unknown");
	view_check_limits(t, c);
	table_cell_bytes(t, TERM_PLAIN, line->detail, strlen(line->detail));
	table_set_fit(t, line->level == HEALTH_GREEN ? TABLE_EXTRA : TABLE_WHOLE);
	if (wrong) {
		AUTO_BUF struct buf next = { 0 };
		buf_add_str(&next, "→ ");
		view_check_next(&next, v, c);
		table_note(t, buf_str(&next), next.len);
	}
}

static void view_check_other(struct table *t, const struct unknown *u)
{
	table_cell(t, view_check_color(HEALTH_UNKNOWN), "%s", view_check_mark(HEALTH_UNKNOWN));
	table_cell_bytes(t, TERM_PLAIN, u->what, strlen(u->what));
	table_cell(t, TERM_DIM, "unknown");
	table_cell(t, TERM_DIM, "%s", "");
	table_cell_bytes(t, TERM_PLAIN, u->why, strlen(u->why));
	table_set_fit(t, TABLE_WHOLE);
}

struct view_check_names {
	struct buf *out;
	unsigned told, total;
};

static void view_check_name(struct view_check_names *n, const char *name)
{
	if (n->told == VIEW_CHECK_MOST_NAMES)
		return;
	buf_addf(n->out, "%s%s", n->told++ ? ", " : "", name);
}

/* "; 2 not known: crash loops, driver resets", those that decide first. */
static void view_check_unknown(struct buf *out, const struct health_result *r)
{
	struct view_check_names names = { .out = out, .total = r->counts[HEALTH_UNKNOWN] };

	if (!names.total)
		return;
	buf_addf(out, "; %u not known: ", names.total);
	for (int essential = 1; essential >= 0; essential--)
		vec_foreach (&r->lines, it)
			if (it->level == HEALTH_UNKNOWN && it->check->essential == essential)
				view_check_name(&names, it->check->brief);
	vec_foreach (&r->others, it)
		view_check_name(&names, (*it)->what);
	if (names.told < names.total)
		buf_addf(out, " and %u more", names.total - names.told);
}

/* Healthy is said only where everything is known. */
static const char *view_check_words(const struct health_result *r)
{
	static const char *const words[] = { "nothing is wrong in what could be read",
					     "watch this node", "this node is sick",
					     "could not tell" };

	if (r->level == HEALTH_GREEN && !r->counts[HEALTH_UNKNOWN])
		return "healthy";
	return words[r->level];
}

static void view_check_verdict(struct buf *out, const struct health_result *r)
{
	const struct {
		enum health_level level;
		const char *word;
	} parts[] = { { HEALTH_RED, "red" },
		      { HEALTH_YELLOW, "yellow" },
		      { HEALTH_GREEN, "green" },
		      { HEALTH_ABSENT, "not applicable" } };
	const char *gap = ": ";

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		unsigned n = r->counts[parts[i].level];
		if (!n && parts[i].level != HEALTH_GREEN)
			continue;
		buf_addf(out, "%s%u %s", gap, n, parts[i].word);
		gap = ", ";
	}
	view_check_unknown(out, r);
}

static void view_check_head(FILE *out, const struct terminal *term, const struct view_check *v)
{
	AUTO_BUF struct buf verdict = { 0 };
	char time[TIMEFMT_MAX];

	terminal_text(out, *v->envelope->host ? v->envelope->host : "host not known");
	fputs(" · kernel ", out);
	terminal_text(out, *v->envelope->kernel ? v->envelope->kernel : "not known");
	fprintf(out, " · %s%s\n", v->captured ? "captured " : "", timefmt_zoned(time, v->time_ns));
	fprintf(out, "%s%s%s", terminal_on(term, view_check_color(v->result->level)),
		view_check_words(v->result), terminal_off(term));
	view_check_verdict(&verdict, v->result);
	terminal_text(out, buf_str(&verdict));
	fputs("\n\n", out);
}

void view_check_text(FILE *out, const struct terminal *term, const struct view_check *v)
{
	static const char *const heads[] = { "", "what", "now", "yellow / red", "detail" };
	AUTO_TABLE struct table t;

	view_check_head(out, term, v);
	table_init(&t, heads, "llrll", ARRAY_LEN(heads));
	for (size_t i = 0; i < ARRAY_LEN(view_check_order); i++) {
		vec_foreach (&v->result->lines, it)
			if (it->level == view_check_order[i])
				view_check_row(&t, v, it);
		if (view_check_order[i] != HEALTH_UNKNOWN)
			continue;
		vec_foreach (&v->result->others, it)
			view_check_other(&t, *it);
	}
	table_print(&t, out, term);
}

static void view_check_json_line(struct json *j, const struct view_check *v,
				 const struct health_line *line)
{
	const struct health_check *c = line->check;
	AUTO_BUF struct buf next = { 0 };

	json_object(j, NULL);
	json_str(j, "id", c->id);
	json_str(j, "title", c->title);
	json_str(j, "status", health_level_name(line->level));
	if (view_check_is_told(line)) {
		json_f64(j, "value", line->value, 2);
		if (*line->detail)
			json_str(j, "detail", line->detail);
		if (line->cpu >= 0)
			json_u64(j, "cpu", (uint64_t)line->cpu);
		for (size_t i = 0; i < line->n_numbers; i++)
			json_f64(j, line->numbers[i].key, line->numbers[i].value,
				 line->numbers[i].decimals);
		if (*line->owner)
			json_str(j, "owner", line->owner);
	} else {
		json_str(j, "why", line->detail);
	}
	if (*c->unit)
		json_str(j, "unit", c->unit);
	json_f64(j, "yellow", c->yellow, 2);
	if (isfinite(c->red))
		json_f64(j, "red", c->red, 2);
	json_str(j, "worse", c->below ? "below" : "above");
	json_bool(j, "essential", c->essential);
	view_check_next(&next, v, c);
	json_str(j, "next", buf_str(&next));
	json_str(j, "source", c->source);
	json_end_object(j);
}

/* Every line that is not known is in the list too, under its own name where no reason is. */
static void view_check_json_unknown(struct json *j, const struct view_check *v)
{
	AUTO_UNKNOWNS struct unknowns all = { 0 };

	vec_foreach (&v->unknown->list, it)
		unknowns_add(&all, it->what, "%s", it->why);
	vec_foreach (&v->result->lines, it)
		if (it->level == HEALTH_UNKNOWN && !it->explained)
			unknowns_add(&all, it->check->id, "%s", it->detail);
	unknowns_json(j, &all);
}

void view_check_json(struct json *j, const struct view_check *v)
{
	const struct health_result *r = v->result;

	json_str(j, "status", health_level_name(r->level));
	json_str(j, "verdict", view_check_words(r));
	json_object(j, "counts");
	for (size_t i = 0; i < ARRAY_LEN(r->counts); i++)
		json_u64(j, health_level_name(i), r->counts[i]);
	json_end_object(j);
	json_array(j, "lines");
	vec_foreach (&r->lines, it)
		view_check_json_line(j, v, it);
	json_end_array(j);
	view_check_json_unknown(j, v);
}

static void view_check_brief(struct buf *out, const struct health_line *line)
{
	const struct health_check *c = line->check;

	if (c->one_core)
		buf_addf(out, "core %d ", line->cpu);
	buf_addf(out, "%s %.*f%s", c->brief, (int)c->decimals, line->value, c->unit);
}

/* All that is wrong, reds first, in at most `most` bytes: what does not fit is counted. */
static void view_check_wrong(struct buf *out, const struct health_result *r, size_t most)
{
	enum { MORE = sizeof(", 16 more") - 1 };
	unsigned left = r->counts[HEALTH_RED] + r->counts[HEALTH_YELLOW];
	const char *gap = "";
	bool full = false;

	for (size_t i = 0; view_check_order[i] != HEALTH_UNKNOWN; i++) {
		vec_foreach (&r->lines, it) {
			AUTO_BUF struct buf one = { 0 };
			if (it->level != view_check_order[i])
				continue;
			buf_add_str(&one, gap);
			view_check_brief(&one, it);
			full = full || out->len + one.len + (left > 1 ? MORE : 0) > most;
			if (full)
				continue;
			buf_add(out, buf_str(&one), one.len);
			gap = ", ";
			left--;
		}
	}
	if (left)
		buf_addf(out, "%s%u more", gap, left);
}

static bool view_check_has_wrong(const struct health_result *r)
{
	return r->level == HEALTH_YELLOW || r->level == HEALTH_RED;
}

void view_check_nagios(struct buf *out, const struct health_result *r)
{
	static const char *const words[] = { "OK", "WARNING", "CRITICAL", "UNKNOWN" };

	buf_addf(out, "ZSCOPE %s - ", words[r->level]);
	if (view_check_has_wrong(r))
		view_check_wrong(out, r, SIZE_MAX);
	else
		buf_add_str(out, view_check_words(r));
	view_check_unknown(out, r);
	buf_add_str(out, " |");
	vec_foreach (&r->lines, it) {
		if (!view_check_is_told(it))
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
	AUTO_BUF struct buf names = { 0 };

	if (view_check_has_wrong(r)) {
		view_check_wrong(out, r, VIEW_CHECK_NPD_MAX);
		return;
	}
	buf_add_str(out, view_check_words(r));
	view_check_unknown(&names, r);
	if (out->len + names.len <= VIEW_CHECK_NPD_MAX)
		buf_add(out, buf_str(&names), names.len);
	else
		buf_addf(out, "; %u not known", r->counts[HEALTH_UNKNOWN]);
}

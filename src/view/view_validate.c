#include "view_validate.h"

#include "auto.h"
#include "numbers.h"
#include "table.h"
#include "timefmt.h"

void view_validate_json(struct json *j, const struct validation *v)
{
	json_str(j, "verdict", outcome_name(v->outcome));
	json_bool(j, "ended_early", v->ended_early);
	json_time(j, "before_from", v->before_from_ns);
	json_time(j, "fixed", v->fixed_ns);
	json_time(j, "to", v->to_ns);
	json_array(j, "metrics");
	for (size_t i = 0; i < v->n; i++) {
		const struct metric *m = &v->metrics[i];
		json_object(j, NULL);
		json_str(j, "name", m->name);
		if (m->unit)
			json_str(j, "unit", m->unit);
		json_str(j, "outcome", outcome_name(m->outcome));
		json_u64(j, "seconds_before", m->n_before);
		json_u64(j, "seconds_after", m->n_after);
		if (m->outcome != OUTCOME_UNKNOWN) {
			json_f64(j, "median_before", m->median_before, 3);
			json_f64(j, "median_after", m->median_after, 3);
			json_f64(j, "mean_before", m->mean_before, 4);
			json_f64(j, "mean_after", m->mean_after, 4);
			json_f64(j, "p", m->p, 5);
		}
		json_end_object(j);
	}
	json_end_array(j);
}

static enum term_color validate_color(enum outcome o)
{
	switch (o) {
	case OUTCOME_HEALED:
	case OUTCOME_BETTER:
		return TERM_GREEN;
	case OUTCOME_WORSE:
		return TERM_RED;
	case OUTCOME_UNKNOWN:
		return TERM_YELLOW;
	case OUTCOME_UNCHANGED:
		break;
	}
	return TERM_PLAIN;
}

void view_validate_text(FILE *out, const struct terminal *term, const struct validation *v)
{
	static const char *const heads[] = {
		"OUTCOME", "METRIC", "BEFORE", "AFTER", "P", "SECONDS"
	};
	AUTO_TABLE struct table t;
	char fixed[TIMEFMT_MAX];

	fprintf(out, "%s%s%s: before and after %s%s\n\n",
		terminal_on(term, validate_color(v->outcome)), outcome_name(v->outcome),
		terminal_off(term), timefmt_local(fixed, v->fixed_ns),
		v->ended_early ? " (ended early: a clear relapse)" : "");
	table_init(&t, heads, "llrrrr", ARRAY_LEN(heads));
	for (size_t i = 0; i < v->n; i++) {
		const struct metric *m = &v->metrics[i];
		const char *unit = m->unit ? m->unit : "";
		char mean[NUMBERS_MAX];
		table_cell(&t, validate_color(m->outcome), "%s", outcome_name(m->outcome));
		table_cell(&t, TERM_PLAIN, "%s", m->name);
		if (m->outcome == OUTCOME_UNKNOWN) {
			table_cell(&t, TERM_DIM, "–");
			table_cell(&t, TERM_DIM, "–");
			table_cell(&t, TERM_DIM, "–");
		} else {
			table_cell(&t, TERM_PLAIN, "%s %s", numbers_mean(mean, m->mean_before),
				   unit);
			table_cell(&t, TERM_PLAIN, "%s %s", numbers_mean(mean, m->mean_after),
				   unit);
			table_cell(&t, TERM_PLAIN, "%.3f", m->p);
		}
		table_cell(&t, TERM_PLAIN, "%zu / %zu", m->n_before, m->n_after);
	}
	table_print(&t, out, term);
}

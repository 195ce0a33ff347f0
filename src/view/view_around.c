#include "view_around.h"

#include "view_churn.h"
#include "view_reclaim.h"

static struct view_cost cost_of(const struct around *a, const struct census_summary *s)
{
	return (struct view_cost){
		.reads = a->cost_known ? &a->cost : NULL,
		.verdict = a->verdict_known ? &a->verdict : NULL,
		.footprint = &a->footprint,
		.reclaim = a->reclaim_known ? &a->reclaim : NULL,
		.percpu_bytes = s->percpu_bytes,
		.tracked = s->tracked,
		.dying = s->dying,
	};
}

void view_around_json(struct json *j, const struct around *a, const struct census_summary *s)
{
	struct view_cost cost = cost_of(a, s);

	if (a->churn_known)
		view_churn_json(j, &a->churn);
	view_growth_json(j, &a->growth);
	view_cost_json(j, &cost);
}

void view_around_text(FILE *out, const struct terminal *term, const struct around *a,
		      const struct census_summary *s)
{
	struct view_cost cost = cost_of(a, s);

	if (a->churn_known)
		view_churn_text(out, term, &a->churn);
	if (a->reclaim_known)
		view_reclaim_text(out, term, &a->reclaim);
	view_growth_text(out, &a->growth);
	if (s->dying)
		view_cost_text(out, &cost);
}

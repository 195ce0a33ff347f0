/* Churn, growth and cost of memory cgroups, beside the zombies themselves. */
#pragma once

#include <stdio.h>

#include "churn_summary.h"
#include "growth.h"
#include "json.h"
#include "reclaim_summary.h"
#include "terminal.h"
#include "zombie_cost.h"

void view_churn_json(struct json *j, const struct churn_summary *s); /* "churn": {...} */
void view_churn_text(FILE *out, const struct terminal *term, const struct churn_summary *s);
void view_growth_json(struct json *j, const struct growth *g); /* "rate_per_hour", "forecast" */
void view_growth_text(FILE *out, const struct growth *g);

/* What zombies cost: as measured here, and what this kernel is known for. */
struct view_cost {
	const struct zombie_cost *reads;       /* NULL = not measured */
	const struct zombie_verdict *verdict;  /* NULL = the kernel is not known */
	const struct footprint *footprint;     /* NULL or not known: nothing recorded shows it */
	const struct reclaim_summary *reclaim; /* NULL = nobody watched */
	uint64_t percpu_bytes, tracked, dying; /* 0 = not known */
};

void view_cost_json(struct json *j, const struct view_cost *v);
void view_cost_text(FILE *out, const struct view_cost *v);

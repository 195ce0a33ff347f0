/* Churn, growth and cost of memory cgroups, beside the zombies themselves. */
#pragma once

#include <stdio.h>

#include "churn_summary.h"
#include "growth.h"
#include "json.h"
#include "terminal.h"
#include "zombie_cost.h"

void view_churn_json(struct json *j, const struct churn_summary *s); /* "churn": {...} */
void view_churn_text(FILE *out, const struct terminal *term, const struct churn_summary *s);
void view_growth_json(struct json *j, const struct growth *g); /* "rate_per_hour", "forecast" */
void view_growth_text(FILE *out, const struct growth *g);
/* verdict may be NULL. tracked 0 = not known. */
void view_cost_json(struct json *j, const struct zombie_cost *c, const struct zombie_verdict *v,
		    uint64_t percpu_bytes, uint64_t tracked);
void view_cost_text(FILE *out, const struct zombie_cost *c, const struct zombie_verdict *v,
		    uint64_t percpu_bytes, uint64_t tracked);

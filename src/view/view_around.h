/* Churn, growth and cost in the contract's `zombies` object and as text. */
#pragma once

#include <stdio.h>

#include "around.h"
#include "json.h"
#include "terminal.h"

/* Members churn, rate_per_hour, forecast, cost; s is the census they belong to. */
void view_around_json(struct json *j, const struct around *a, const struct census_summary *s);
void view_around_text(FILE *out, const struct terminal *term, const struct around *a,
		      const struct census_summary *s);

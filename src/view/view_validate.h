/* Before and after, metric by metric, with a verdict. */
#pragma once

#include <stdio.h>

#include "compare.h"
#include "json.h"
#include "terminal.h"

struct validation {
	const struct metric *metrics;
	size_t n;
	uint64_t before_from_ns, fixed_ns, to_ns;
	enum outcome outcome;
	bool ended_early;
};

void view_validate_json(struct json *j, const struct validation *v);
void view_validate_text(FILE *out, const struct terminal *term, const struct validation *v);

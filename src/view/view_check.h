/* The answer of `zscope check` in every form. */
#pragma once

#include "health.h"
#include "json.h"
#include "terminal.h"
#include "unknowns.h"

void view_check_text(FILE *out, const struct terminal *term, const struct health_result *r,
		     const struct unknowns *unknown);
/* status, lines, unknown; the caller opens and closes the object. */
void view_check_json(struct json *j, const struct health_result *r, const struct unknowns *unknown);
/* One line with performance data, as Nagios and its relatives read it. */
void view_check_nagios(struct buf *out, const struct health_result *r);
/* At most 80 characters: node-problem-detector cuts there. */
void view_check_npd(struct buf *out, const struct health_result *r);

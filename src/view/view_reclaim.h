/* What memory reclaim took while somebody watched: measured, not assumed. */
#pragma once

#include <stdio.h>

#include "json.h"
#include "reclaim_summary.h"
#include "terminal.h"

void view_reclaim_json(struct json *j, const struct reclaim_summary *s); /* "reclaim": {...} */
void view_reclaim_text(FILE *out, const struct terminal *term, const struct reclaim_summary *s);

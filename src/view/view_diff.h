/* Two windows of a profile compared, for people and machines. */
#pragma once

#include <stdio.h>

#include "diff.h"
#include "json.h"
#include "terminal.h"

/* What grew, what shrank, what vanished: tables in percent of each window's samples. */
void view_diff_text(FILE *out, const struct terminal *term, const struct diff *d, size_t lines);
/* growth, names and nodes (with base), elided. */
void view_diff_json(struct json *j, const struct diff *d, size_t lines);

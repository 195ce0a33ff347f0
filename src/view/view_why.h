/* A diagnosis for people and for machines: verdict, chain, plan, what was unknown. */
#pragma once

#include <stdio.h>

#include "diagnosis.h"
#include "json.h"
#include "terminal.h"

/* The contract's members verdict, chain, findings, plan, unknown; the caller opens and closes the
 * object. */
void view_why_json(struct json *j, const struct diagnosis *d);
void view_why_text(FILE *out, const struct terminal *term, const struct diagnosis *d);
/* Only the plan, as `fix` shows it. */
void view_plan_text(FILE *out, const struct terminal *term, const struct diagnosis *d);

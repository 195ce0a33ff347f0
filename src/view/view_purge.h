/* A purge, planned or done. */
#pragma once

#include <stdio.h>

#include "json.h"
#include "purge.h"
#include "terminal.h"

void view_purge_json(struct json *j, const struct purge_options *o, const struct purge_result *r);
void view_purge_text(FILE *out, const struct terminal *term, const struct purge_options *o,
		     const struct purge_result *r);

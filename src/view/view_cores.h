/* Every core of one second, and hot spans. */
#pragma once

#include "envelope.h"
#include "hot.h"
#include "json.h"
#include "rates.h"
#include "terminal.h"
#include "unknowns.h"

/* mpstat's columns and a bar per core. */
void view_cores_text(FILE *out, const struct terminal *term, const struct rates *r);
/* One whole object of the contract, without a newline. */
void view_cores_json(struct json *j, const struct envelope *e, const struct rates *r);
/* Hot spans, one by one as they end. */
void view_hot_head(FILE *out);
void view_hot_row(FILE *out, const struct terminal *term, const struct hot_span *span);
void view_hot_json(struct json *j, const struct envelope *e, const struct hot_span *span);

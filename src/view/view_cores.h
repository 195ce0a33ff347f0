/* Every core of one second, and hot spans. */
#pragma once

#include "envelope.h"
#include "hot.h"
#include "json.h"
#include "rates.h"
#include "terminal.h"
#include "unknowns.h"

/* The time that it is of, mpstat's columns and a bar per core. lines: as many as there is room for
 * (0 = any number): then only the busiest cores. */
void view_cores_text(FILE *out, const struct terminal *term, const struct rates *r, size_t lines);
/* One whole object of the contract, without a newline. */
void view_cores_json(struct json *j, const struct envelope *e, const struct rates *r);
/* Hot spans, one by one as they end. */
void view_hot_head(FILE *out);
void view_hot_row(FILE *out, const struct terminal *term, const struct hot_span *span);
/* There was none: in which time none. */
void view_hot_none(FILE *out, uint64_t samples, uint64_t from_ns, uint64_t to_ns);
/* Says so when there are so few cores that one of them always moves the mean. */
void view_hot_few_cores(FILE *out, size_t cores);
void view_hot_json(struct json *j, const struct envelope *e, const struct hot_span *span);

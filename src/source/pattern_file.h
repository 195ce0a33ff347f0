/* The text of a pattern table: tab-separated rows, `#` comments, an optional head row that names
 * the columns. Pure. */
#pragma once

#include "arena.h"
#include "err.h"
#include "pattern.h"

extern const char patterns_tsv[]; /* patterns.tsv, embedded by the build */

struct pattern_file {
	const char *at;
	unsigned line; /* of the row that pattern_file_next gave last */
};

void pattern_file_open(struct pattern_file *f, const char *text);
/* 1 = *ret is the next row (strings in the arena), 0 = end, negative = this row is wrong; the next
 * call goes on behind it. A missing literal is derived from the regex. */
int pattern_file_next(struct pattern_file *f, struct arena *arena, struct pattern *ret,
		      struct err *err);

/* Text tables: cells are hostile bytes and are escaped here; widths count characters, not bytes.
 * The last left-aligned column is cut to the terminal's width with an ellipsis. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "arena.h"
#include "terminal.h"
#include "vec.h"

struct table_cell {
	const char *text; /* escaped, owned by the arena */
	size_t width;
	enum term_color color;
};

struct table {
	struct arena arena;
	VEC(struct table_cell) cells; /* row after row */
	const char *const *heads;
	const char *aligns; /* one of "l" or "r" per column */
	size_t columns;
};

/* heads and aligns live as long as the table. */
void table_init(struct table *t, const char *const *heads, const char *aligns, size_t columns);
void table_cell(struct table *t, enum term_color color, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Bytes as they are, with a length: may hold NUL. */
void table_cell_bytes(struct table *t, enum term_color color, const char *bytes, size_t len);
void table_print(const struct table *t, FILE *out, const struct terminal *term);
/* Does a terminal of this width not show all of it? */
bool table_is_cut(const struct table *t, const struct terminal *term);
void table_free(struct table *t);

#define AUTO_TABLE __attribute__((cleanup(table_free)))

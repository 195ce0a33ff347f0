/* Text tables: cells are hostile bytes and are escaped here; widths count characters, not bytes.
 * The last left-aligned column is cut to the terminal's width with an ellipsis, or goes on below
 * where the whole of it matters. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "arena.h"
#include "terminal.h"
#include "vec.h"

/* What becomes of a text of the last column that is too long for the terminal. */
enum table_fit {
	TABLE_CUT,   /* an ellipsis ends it */
	TABLE_WHOLE, /* it goes on in the next line */
	TABLE_EXTRA, /* as TABLE_CUT, but left out where too little would remain to say anything */
};

struct table_cell {
	const char *text; /* escaped, owned by the arena */
	size_t width;
	enum term_color color;
	enum table_fit fit;
};

/* A line below a row, never cut or broken: a command to paste. */
struct table_note {
	const char *text; /* escaped, owned by the arena */
	size_t row;
};

struct table {
	struct arena arena;
	VEC(struct table_cell) cells; /* row after row */
	VEC(struct table_note) notes; /* in the order of rows */
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
/* For the cell that was just given. */
void table_set_fit(struct table *t, enum table_fit fit);
/* Below the row whose cells were just given. */
void table_note(struct table *t, const char *bytes, size_t len);
void table_print(const struct table *t, FILE *out, const struct terminal *term);
void table_free(struct table *t);

#define AUTO_TABLE __attribute__((cleanup(table_free)))

/* One reading of the host: rows of records by kind, and the clocks at which they were read. */
#pragma once

#include "arena.h"
#include "rec.h"
#include "vec.h"

struct rec_rows {
	void *items; /* desc->size bytes each */
	size_t len, cap;
};

struct tick {
	uint64_t real_ns; /* CLOCK_REALTIME */
	uint64_t mono_ns; /* CLOCK_MONOTONIC */
	uint64_t boot_ns; /* CLOCK_BOOTTIME: differs from mono by the time suspended */
	struct rec_rows rows[REC_KIND_END];
	struct arena strings;
};

/* A zeroed new row of the kind; NULL when out of memory. Valid until the next row of that kind. */
void *tick_add_row(struct tick *t, enum rec_kind kind);
/* Where the next row of the kind will lie, as it was left: who has written all of it counts it
 * (rows[kind].len). For kinds of which there are many. */
static inline void *tick_next_row(struct tick *t, const struct rec_desc *desc)
{
	struct rec_rows *rows = &t->rows[desc->kind];

	if (rows->len == rows->cap &&
	    !vec_grow(&rows->items, &rows->cap, rows->len + 1, desc->size))
		return NULL;
	return (char *)rows->items + rows->len * desc->size;
}

/* The row of a kind that has one row, made when there is none yet. */
void *tick_only_row(struct tick *t, enum rec_kind kind);
/* Replace *to by a copy of its own of *from, strings included; -ENOMEM leaves a part of it. */
int tick_copy(struct tick *to, const struct tick *from);
/* Forget the rows, keep their memory. */
void tick_clear(struct tick *t);
void tick_free(struct tick *t);

/* for (size_t i = 0; i < t->rows[REC_CPU].len; i++) { const struct rec_cpu *c = TICK_ROW(t,
 * REC_CPU, rec_cpu, i); } */
#define TICK_ROW(t, kind, record, i) (&((struct record *)(t)->rows[kind].items)[i])

#define AUTO_TICK __attribute__((cleanup(tick_free)))

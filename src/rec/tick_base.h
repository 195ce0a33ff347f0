/* The key tick of a segment as both sides of the codec hold it: rows found by their key fields, the
 * pace of their counters, and the numbered strings. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "map.h"
#include "tick.h"
#include "vec.h"

struct tick_base {
	bool set;
	struct tick tick;                  /* its strings lie in `arena` */
	uint64_t *rates[REC_KIND_END];     /* column by column, in 2^-13 per ms */
	uint64_t paced[REC_KIND_END];      /* bit per field: its column of rates is not all zero */
	uint64_t keys[REC_KIND_END];       /* bit per field: identifies the row */
	struct map_u64 rows[REC_KIND_END]; /* hash of the key fields -> index + 1 */
	struct arena arena;
	VEC(const char *) strings;
	struct map_str numbers; /* string -> index + 1 */
};

void tick_base_free(struct tick_base *b);
/* Number of the string in the table, made when absent; SIZE_MAX when out of memory. */
size_t tick_base_string(struct tick_base *b, const char *text, size_t len);
/* After the rows of b->tick are complete. */
bool tick_base_index(struct tick_base *b);
/* Index of the base row with the same key fields, trying `guess` first; SIZE_MAX = none. */
size_t tick_base_find(const struct tick_base *b, const struct rec_desc *desc, const void *row,
		      size_t guess);

static inline uint64_t tick_field_u64(const void *row, const struct rec_field *field)
{
	return *(const uint64_t *)((const char *)row + field->offset);
}

static inline const char *tick_field_str(const void *row, const struct rec_field *field)
{
	return *(const char *const *)((const char *)row + field->offset);
}

static inline void *tick_base_row(const struct tick_base *b, const struct rec_desc *desc, size_t i)
{
	return (char *)b->tick.rows[desc->kind].items + i * desc->size;
}

/* How far a counter of that pace has come after elapsed_ms. */
static inline uint64_t tick_base_advance(uint64_t rate, uint64_t elapsed_ms)
{
	return rate * elapsed_ms >> 13;
}

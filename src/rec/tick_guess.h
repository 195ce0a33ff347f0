/* What the two directions of the tick codec share: its state, and the guesses from which both
 * start. Only tick_encode.c and tick_decode.c look in here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "buf.h"
#include "column_codec.h"
#include "map.h"
#include "tick_base.h"
#include "tick_codec.h"
#include "vec.h"

enum {
	BLOCK_SAME_ROWS = 1, /* as many rows as the key has, in the same order */
	BLOCK_SAME_HAVE = 2, /* each with the same fields known as its key row */
	CODEC_MOST_ROWS = 1 << 17,
	CODEC_MOST_FIELDS = 64,
	CODEC_MOST_RECORD = 1024,    /* size of the largest record struct */
	CODEC_MOST_BYTES = 64 << 20, /* of the rows of one kind */
	CODEC_MOST_STRINGS = 1 << 17,
};

#define NO_ROW SIZE_MAX
/* string columns: 0 = as in the key row, 1 = none, else number + 2 */
enum { STRING_SAME, STRING_NONE, STRING_FIRST };

struct tick_codec {
	struct tick_base base;
	struct map_str fresh; /* strings of this frame that the base has not -> index + 1 */
	VEC(const char *) fresh_list;
	VEC(uint64_t) values;  /* one column */
	VEC(uint64_t) guesses; /* what the values of the column are predicted to be */
	/* Per row: the sum of the deltas of all counters but the balancing one; in the key, of the
	 * counters themselves: cores that came up together have lived equally long. */
	VEC(uint64_t) totals;
	VEC(size_t) bases;           /* per row: index of its key row or NO_ROW */
	VEC(const char *) base_rows; /* per row: its key row, or a row of zeroes */
	VEC(uint8_t) hints;          /* per row: likely bits of the value */
	struct buf block, blocks;
	uint64_t balances[REC_KIND_END]; /* codec_balances of each kind */
	struct column_memory memory[REC_KIND_END][CODEC_MOST_FIELDS]; /* the writer's */
};

/* What one block is about, on either side. */
struct block {
	const struct rec_desc *desc;
	char *rows;
	size_t n_rows;
	size_t n_fields; /* as written; may be more or fewer than desc has */
	bool key;        /* a block of the key itself: no base, columns against the row before */
	uint64_t elapsed_ms;
	uint64_t balances; /* a bit for each balancing field; with any, c->totals is kept */
};

static inline uint64_t elapsed_ms(const struct tick *from, uint64_t mono_ns)
{
	return mono_ns > from->mono_ns ? (mono_ns - from->mono_ns) / 1000000 : 0;
}

static inline bool row_knows(const void *row, size_t f)
{
	return rec_have(row) >> f & 1;
}

/* Unknown fields are 0 on both sides, whatever stands in the writer's struct. */
static inline uint64_t row_value(const struct block *b, size_t i, size_t f)
{
	const char *row = b->rows + i * b->desc->size;
	return row_knows(row, f) ? tick_field_u64(row, &b->desc->fields[f]) : 0;
}

static inline bool field_is_paced(const struct rec_field *field)
{
	return field->type == REC_U64 && (field->flags & REC_COUNTER) &&
	       !(field->flags & REC_BALANCE);
}

/* The field in the row that row i is coded against, 0 without one. */
static inline uint64_t base_value(const struct tick_codec *c, const struct rec_field *field,
				  size_t i)
{
	return tick_field_u64(c->base_rows.items[i], field);
}

static inline uint64_t codec_balances(const struct rec_desc *desc)
{
	uint64_t found = 0;

	for (size_t f = 0; f < desc->n_fields; f++)
		found |= (uint64_t) !!(desc->fields[f].flags & REC_BALANCE) << f;
	return found;
}

static inline bool any(const uint64_t *values, size_t n)
{
	uint64_t all = 0;
	for (size_t i = 0; i < n; i++)
		all |= values[i];
	return all != 0;
}

/* A running guess of what all counters of a row add up to: the row before knew. */
struct balance {
	uint64_t total;
	const struct rec_field *field;
};

static inline struct balance codec_balance(const struct block *b, size_t f)
{
	const struct rec_field *field = &b->desc->fields[f];
	bool paced = field->unit == REC_TICKS && !b->key;
	return (struct balance){ paced ? b->elapsed_ms / 10 : 0, field };
}

static inline uint64_t codec_predict_balance(const struct tick_codec *c, const struct block *b,
					     const struct balance *balance, size_t i)
{
	return base_value(c, balance->field, i) + balance->total - c->totals.items[i];
}

static inline void codec_learn_balance(const struct tick_codec *c, const struct block *b,
				       struct balance *balance, size_t i, uint64_t value)
{
	balance->total = value - base_value(c, balance->field, i) + c->totals.items[i];
}

/* How many bits the miss of a counter that should have come so far is likely to take. */
static inline uint8_t codec_hint(uint64_t advance)
{
	return advance ? (uint8_t)((65 - (unsigned)__builtin_clzll(advance)) / 2) : 0;
}

/* Room for a column of so many rows; false = out of memory. */
bool codec_reserve(struct tick_codec *c, size_t n_rows);
/* Remember each row's base; after c->bases is filled. */
void codec_set_bases(struct tick_codec *c, const struct block *b);
/* Fill c->guesses for field f of a block that is not a key's. Returns hints of how far off they may
 * be (a counter that advanced far: like the root of the advance), NULL = no idea. */
const uint8_t *codec_guess(struct tick_codec *c, const struct block *b, size_t f);

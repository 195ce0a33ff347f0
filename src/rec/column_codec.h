/* A column of numbers that are mostly small, as bits: each value as its high part in unary and its
 * low k bits (Golomb-Rice), with an escape for outliers. k is chosen per column; where both sides
 * have an idea of each value's size (hints: its likely number of bits), k follows the hint, moved
 * by what is chosen per column. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "wire.h"

static inline uint64_t column_zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint64_t column_unzigzag(uint64_t value)
{
	return value >> 1 ^ -(value & 1);
}

/* hints may be NULL; both sides must give the same. */
void column_put(struct buf *out, const uint64_t *values, const uint8_t *hints, size_t n);
/* How the last column of that place was put: choosing costs as much as writing, and the next second
 * looks like this one. */
struct column_memory {
	uint8_t how;
	uint8_t length; /* bits of the largest value then */
	uint8_t left;   /* columns until it is chosen anew; 0 = nothing is remembered */
	bool hinted;
};
/* The same, chosen anew only every few times or when the values have grown or shrunk. largest: all
 * values ORed. */
void column_put_again(struct buf *out, const uint64_t *values, const uint8_t *hints, size_t n,
		      uint64_t largest, struct column_memory *memory);
/* Fails like every wire_get: r->failed, and zeroes. */
void column_get(struct wire_reader *r, uint64_t *ret, const uint8_t *hints, size_t n);

#include "column_codec.h"

#include <endian.h>
#include <string.h>

#include "auto.h"
#include "tick_path.h"

enum {
	COLUMN_FEW = 4,     /* so few values are plain varints */
	COLUMN_ESCAPE = 20, /* that many ones in a row: length and bits of the value follow */
	COLUMN_LENGTH_BITS = 6,
	COLUMN_HINTED = 32, /* the column's first byte: below this it is k, else 32 + shift */
	COLUMN_SHIFT = 16,  /* shift that stands for 0 */
	COLUMN_SHIFTS = 32,
	COLUMN_CHOOSE_EVERY = 8,
};

struct bits_out {
	uint64_t word;
	unsigned n;
	uint8_t *at;
};

/* n <= 56; writes up to 8 bytes at b->at */
static inline void bits_put(struct bits_out *b, uint64_t value, unsigned n)
{
	b->word |= value << b->n;
	b->n += n;
	uint64_t bytes = htole64(b->word);
	memcpy(b->at, &bytes, sizeof(bytes));
	b->at += b->n / 8;
	b->word >>= b->n / 8 * 8;
	b->n %= 8;
}

static inline unsigned bit_length(uint64_t value)
{
	return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

static void bits_put_long(struct bits_out *b, uint64_t value, unsigned n)
{
	if (n > 32) {
		bits_put(b, value & 0xffffffff, 32);
		bits_put(b, value >> 32, n - 32);
	} else {
		bits_put(b, value, n);
	}
}

/* Bits of a value of that length with that k: the middle of the values of that length. */
static unsigned column_cost_of(unsigned length, unsigned k)
{
	uint64_t high = length <= k ? 0 : length == 1 ? 1 : (UINT64_C(3) << (length - 2)) >> k;

	return high < COLUMN_ESCAPE ? (unsigned)high + 1 + k
				    : COLUMN_ESCAPE + COLUMN_LENGTH_BITS + length;
}

static uint8_t costs[65][32];

__attribute__((constructor)) static void column_fill_costs(void)
{
	for (unsigned length = 0; length <= 64; length++)
		for (unsigned k = 0; k < 32; k++)
			costs[length][k] = (uint8_t)column_cost_of(length, k);
}

static inline unsigned column_cost(unsigned length, unsigned k)
{
	return costs[length][k];
}

/* k of a value: fixed for the column, or its hint moved. */
static inline unsigned column_k(unsigned how, const uint8_t *hints, size_t i)
{
	if (how < COLUMN_HINTED)
		return how;
	unsigned k = how - COLUMN_HINTED + hints[i];
	return k <= COLUMN_SHIFT ? 0 : k - COLUMN_SHIFT > 31 ? 31 : k - COLUMN_SHIFT;
}

/* The cheapest fixed k, from the counts of bit lengths, looked for around the median. */
static unsigned column_choose_fixed(const uint32_t counts[65], size_t n, uint64_t *ret_bits)
{
	unsigned best = 0, longest = 64, median = 0;
	uint64_t below = counts[0];

	while (longest && !counts[longest])
		longest--;
	while (below * 2 < n)
		below += counts[++median];
	*ret_bits = UINT64_MAX;
	for (unsigned k = median < 2 ? 0 : median - 2; k <= median + 2 && k < 32; k++) {
		uint64_t bits = 0;
		for (unsigned length = 0; length <= longest; length++)
			if (counts[length])
				bits += (uint64_t)column_cost(length, k) * counts[length];
		if (bits < *ret_bits) {
			*ret_bits = bits;
			best = k;
		}
	}
	return best;
}

/* Whether following the hints is cheaper. The shift is the mean distance of length and hint: one
 * pass, then the bits are counted for it and its neighbour. */
static unsigned column_choose(const uint64_t *values, const uint8_t *hints, size_t n)
{
	uint32_t counts[65] = { 0 };
	uint64_t fixed_bits;
	int64_t distance = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned length = bit_length(values[i]);
		counts[length]++;
		if (hints)
			distance += (int64_t)length - hints[i];
	}
	unsigned fixed = column_choose_fixed(counts, n, &fixed_bits);
	if (!hints)
		return fixed;
	int64_t mean = distance / (int64_t)n - 1 + COLUMN_SHIFT;
	if (mean < 0 || mean + 1 >= COLUMN_SHIFTS)
		return fixed;
	unsigned how = COLUMN_HINTED + (unsigned)mean;
	uint64_t bits[2] = { 0 };
	for (size_t i = 0; i < n; i++) {
		unsigned length = bit_length(values[i]);
		bits[0] += column_cost(length, column_k(how, hints, i));
		bits[1] += column_cost(length, column_k(how + 1, hints, i));
	}
	if (MIN_OF(bits[0], bits[1]) >= fixed_bits)
		return fixed;
	return bits[0] <= bits[1] ? how : how + 1;
}

static void column_put_bits(struct bits_out *b, const uint64_t *values, const uint8_t *hints,
			    size_t n, unsigned how)
{
	for (size_t i = 0; i < n; i++) {
		unsigned k = column_k(how, hints, i);
		uint64_t high = values[i] >> k;
		if (high < COLUMN_ESCAPE) {
			uint64_t low = values[i] ^ high << k;
			/* as many ones as `high` says, a zero, the low bits */
			bits_put(b, ((low << 1 | 1) << high) - 1, (unsigned)high + 1 + k);
		} else {
			unsigned length = bit_length(values[i]);
			bits_put(b, (1 << COLUMN_ESCAPE) - 1, COLUMN_ESCAPE);
			bits_put(b, length - 1, COLUMN_LENGTH_BITS);
			bits_put_long(b, values[i], length);
		}
	}
	if (b->n)
		*b->at++ = (uint8_t)b->word;
}

EVERY_TICK static void column_put_few(struct buf *out, const uint64_t *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		wire_put_u64(out, values[i]);
}

EVERY_TICK static void column_put_how(struct buf *out, const uint64_t *values, const uint8_t *hints,
				      size_t n, unsigned how)
{
	/* worst case: an escape and 64 bits each; and what bits_put may write ahead */
	if (!buf_reserve(out, 16 + n * 12))
		return;
	struct bits_out b = { .at = (uint8_t *)out->data + out->len };
	*b.at++ = (uint8_t)how;
	column_put_bits(&b, values, hints, n, how);
	out->len = (size_t)((char *)b.at - out->data);
	out->data[out->len] = '\0';
}

EVERY_TICK void column_put(struct buf *out, const uint64_t *values, const uint8_t *hints, size_t n)
{
	if (n <= COLUMN_FEW)
		column_put_few(out, values, n);
	else
		column_put_how(out, values, hints, n, column_choose(values, hints, n));
}

EVERY_TICK void column_put_again(struct buf *out, const uint64_t *values, const uint8_t *hints,
				 size_t n, uint64_t largest, struct column_memory *memory)
{
	unsigned length = bit_length(largest);
	unsigned then = memory->length;

	if (n <= COLUMN_FEW) {
		column_put_few(out, values, n);
		return;
	}
	if (!memory->left || memory->hinted != !!hints || length > then + 1 || then > length + 1)
		*memory = (struct column_memory){ .how = (uint8_t)column_choose(values, hints, n),
						  .length = (uint8_t)length,
						  .left = COLUMN_CHOOSE_EVERY,
						  .hinted = !!hints };
	memory->left--;
	column_put_how(out, values, hints, n, memory->how);
}

struct bits_in {
	uint64_t word;
	unsigned n;
	struct wire_reader *r;
};

static inline void bits_fill(struct bits_in *b)
{
	while (b->n <= 56 && b->r->at < b->r->end) {
		b->word |= (uint64_t)*b->r->at++ << b->n;
		b->n += 8;
	}
}

/* n <= 32 */
static uint64_t bits_get(struct bits_in *b, unsigned n)
{
	bits_fill(b);
	if (n > b->n) {
		b->r->failed = true;
		return 0;
	}
	uint64_t value = b->word & ((UINT64_C(1) << n) - 1);
	b->word >>= n;
	b->n -= n;
	return value;
}

static uint64_t bits_get_long(struct bits_in *b, unsigned n)
{
	if (n <= 32)
		return bits_get(b, n);
	uint64_t low = bits_get(b, 32);
	return low | bits_get(b, n - 32) << 32;
}

static uint64_t column_get_one(struct bits_in *b, unsigned k)
{
	bits_fill(b);
	unsigned ones = ~b->word ? (unsigned)__builtin_ctzll(~b->word) : 64;

	if (ones < COLUMN_ESCAPE) {
		bits_get(b, ones + 1);
		return (uint64_t)ones << k | bits_get(b, k);
	}
	bits_get(b, COLUMN_ESCAPE);
	return bits_get_long(b, (unsigned)bits_get(b, COLUMN_LENGTH_BITS) + 1);
}

void column_get(struct wire_reader *r, uint64_t *ret, const uint8_t *hints, size_t n)
{
	struct bits_in b = { .r = r };
	unsigned how = 0;

	if (n <= COLUMN_FEW) {
		for (size_t i = 0; i < n; i++)
			ret[i] = wire_get_u64(r);
		return;
	}
	if (r->at < r->end)
		how = *r->at++;
	else
		r->failed = true;
	if (how >= (hints ? COLUMN_HINTED + COLUMN_SHIFTS : COLUMN_HINTED))
		r->failed = true;
	for (size_t i = 0; i < n && !r->failed; i++)
		ret[i] = column_get_one(&b, column_k(how, hints, i));
	if (r->failed)
		memset(ret, 0, n * sizeof(*ret));
	else
		r->at -= b.n / 8; /* whole bytes that were read ahead */
}

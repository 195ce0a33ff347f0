#include "column_codec.h"

#include <string.h>

enum {
	COLUMN_FEW = 4,     /* so few values are plain varints */
	COLUMN_ESCAPE = 12, /* that many ones in a row: length and bits of the value follow */
	COLUMN_LENGTH_BITS = 6,
};

struct bits_out {
	uint64_t word;
	unsigned n;
	uint8_t *at;
};

/* n <= 32 */
static inline void bits_put(struct bits_out *b, uint64_t value, unsigned n)
{
	b->word |= value << b->n;
	b->n += n;
	while (b->n >= 8) {
		*b->at++ = (uint8_t)b->word;
		b->word >>= 8;
		b->n -= 8;
	}
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

/* The k with the fewest bits, from the counts of bit lengths: near enough, and no second pass. */
static unsigned column_choose(const uint32_t counts[65])
{
	unsigned best = 0;
	uint64_t best_bits = UINT64_MAX;
	unsigned longest = 64;

	while (longest && !counts[longest])
		longest--;
	for (unsigned k = 0; k <= longest && k < 32; k++) {
		uint64_t bits = 0;
		for (unsigned length = 0; length <= longest; length++) {
			/* the middle of the values of that length, in halves */
			uint64_t high = length < 2 ? 0 : (UINT64_C(3) << (length - 2)) >> k;
			if (length == 1 && k == 0)
				high = 1;
			uint64_t cost = high < COLUMN_ESCAPE
						? high + 1 + k
						: COLUMN_ESCAPE + COLUMN_LENGTH_BITS + length;
			bits += cost * counts[length];
		}
		if (bits < best_bits) {
			best_bits = bits;
			best = k;
		}
	}
	return best;
}

static void column_put_bits(struct bits_out *b, const uint64_t *values, size_t n, unsigned k)
{
	uint64_t mask = (UINT64_C(1) << k) - 1;

	for (size_t i = 0; i < n; i++) {
		uint64_t high = values[i] >> k;
		if (high < COLUMN_ESCAPE) {
			bits_put(b, (UINT64_C(1) << high) - 1, (unsigned)high + 1);
			bits_put(b, values[i] & mask, k);
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

void column_put(struct buf *out, const uint64_t *values, size_t n)
{
	uint32_t counts[65] = { 0 };

	if (n <= COLUMN_FEW) {
		for (size_t i = 0; i < n; i++)
			wire_put_u64(out, values[i]);
		return;
	}
	for (size_t i = 0; i < n; i++)
		counts[bit_length(values[i])]++;
	unsigned k = column_choose(counts);
	/* worst case: an escape and 64 bits each */
	if (!buf_reserve(out, 2 + n * 11))
		return;
	struct bits_out b = { .at = (uint8_t *)out->data + out->len };
	*b.at++ = (uint8_t)k;
	column_put_bits(&b, values, n, k);
	out->len = (size_t)((char *)b.at - out->data);
	out->data[out->len] = '\0';
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

void column_get(struct wire_reader *r, uint64_t *ret, size_t n)
{
	struct bits_in b = { .r = r };
	unsigned k = 0;

	if (n <= COLUMN_FEW) {
		for (size_t i = 0; i < n; i++)
			ret[i] = wire_get_u64(r);
		return;
	}
	if (r->at < r->end)
		k = *r->at++;
	else
		r->failed = true;
	if (k >= 32)
		r->failed = true;
	for (size_t i = 0; i < n && !r->failed; i++)
		ret[i] = column_get_one(&b, k);
	if (r->failed)
		memset(ret, 0, n * sizeof(*ret));
	else
		r->at -= b.n / 8; /* whole bytes that were read ahead */
}

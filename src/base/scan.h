/* The fast way through large kernel tables, a thousand numbers a second: inline, one pass, no
 * error per number. Text is NUL-terminated; a number that is too large stays at 2^64-1. Where a
 * missing or odd number matters, use text.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

static inline bool scan_is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

/* -1 = none. */
static inline int scan_hex_digit(char c)
{
	if (scan_is_digit(c))
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Digits at p; returns p itself when there are none. */
static inline const char *scan_u64(const char *p, uint64_t *ret)
{
	uint64_t value = 0;
	const char *start = p;

	for (; scan_is_digit(*p); p++)
		value = value * 10 + (uint64_t)(*p - '0');
	if (__builtin_expect(p - start > 19, 0))
		value = UINT64_MAX;
	*ret = value;
	return p;
}

/* Eight characters as one word, the first in its lowest byte, digits as their values. */
static inline uint64_t scan_eight(const char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
		word = __builtin_bswap64(word);
	return word ^ UINT64_C(0x3030303030303030);
}

/* The value of the first len (1 to 8) digits of such a word: pairs, then what the pairs are worth.
 */
static inline uint64_t scan_eight_value(uint64_t word, uint64_t len)
{
	const uint64_t bytes = UINT64_C(0x000000ff000000ff);

	word <<= -8 * len & 63; /* zeroes before it */
	word = word * 10 + (word >> 8);
	return ((word & bytes) * (UINT64_C(1000000) << 32 | 100) +
		(word >> 16 & bytes) * (UINT64_C(10000) << 32 | 1)) >>
	       32;
}

/* The value of 9 to 16 digits. */
static inline uint64_t scan_sixteen_value(const char *p, uint64_t len)
{
	static const uint64_t tens[] = { 1,      10,      100,      1000,     10000,
					 100000, 1000000, 10000000, 100000000 };

	return scan_eight_value(scan_eight(p), 8) * tens[len - 8] +
	       scan_eight_value(scan_eight(p + 8), len - 8);
}

/* A bit for each of the eight characters at p that is no digit, the first in the lowest. */
static inline uint64_t scan_others_of_eight(const char *p)
{
	const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
	uint64_t word = scan_eight(p);
	uint64_t tops = (((word & low) + UINT64_C(0x7676767676767676)) | word) & ~low;

	return (tops >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

/* The same of 64 characters. */
static inline uint64_t scan_others(const char *p)
{
	uint64_t bits = 0;

#if defined(__SSE2__)
	for (unsigned i = 0; i < 64; i += 16) {
		__m128i at = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
		__m128i value = _mm_sub_epi8(at, _mm_set1_epi8('0'));
		__m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(value, _mm_set1_epi8(9)), value);
		bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(is_digit) << i;
	}
	return ~bits;
#else
	for (unsigned i = 0; i < 64; i += 8)
		bits |= scan_others_of_eight(p + i) << i;
	return bits;
#endif
}

/* `count` numbers with one blank between them and `last` behind them, as the kernel writes a line
 * of its large tables, into eight bytes each at `ret`; returns where `last` stands. NULL = the text
 * (its NUL is at `end`) is not like that, or ends soon: read it number by number. All ends of
 * numbers are found first: the processor need not guess how long each is. */
static inline const char *scan_numbers(const char *p, const char *end, unsigned count, char last,
				       char *ret)
{
	const char *block = p;
	uint64_t others = 0, value;

	for (; count; count--, ret += sizeof(value)) {
		if (!others) {
			block = p;
			if (end - p < 64 + 16 || !(others = scan_others(p)))
				return NULL;
		}
		const char *stop = block + (unsigned)__builtin_ctzll(others);
		uint64_t len = (uint64_t)(stop - p);
		others &= others - 1;
		if (len == 1) /* most are 0 */
			value = (uint64_t)(*p - '0');
		else if (__builtin_expect(len - 1 < 8, 1))
			value = scan_eight_value(scan_eight(p), len);
		else if (len - 1 < 16)
			value = scan_sixteen_value(p, len);
		else
			return NULL;
		memcpy(ret, &value, sizeof(value));
		p = stop + 1;
		if (*stop != ' ')
			break;
	}
	return count == 1 && p[-1] == last ? p - 1 : NULL;
}

static inline const char *scan_blanks(const char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

/* Blanks, then a number; NULL when there is none. */
static inline const char *scan_next_u64(const char *p, uint64_t *ret)
{
	p = scan_blanks(p);
	return scan_is_digit(*p) ? scan_u64(p, ret) : NULL;
}

/* The word and the blanks behind it. */
static inline const char *scan_skip_word(const char *p)
{
	while (*p && *p != ' ' && *p != '\t' && *p != '\n')
		p++;
	return scan_blanks(p);
}

/* The line after p; the terminating NUL at the end of the text. */
static inline const char *scan_line(const char *p)
{
	const char *end = strchrnul(p, '\n');

	return *end ? end + 1 : end;
}

/* "15.08" as 1508: hundredths, further digits are cut. NULL when there is no number. */
static inline const char *scan_hundredths(const char *p, uint64_t *ret)
{
	uint64_t whole, part = 0;

	if (!scan_is_digit(*p))
		return NULL;
	p = scan_u64(p, &whole);
	if (*p == '.') {
		p++;
		for (unsigned i = 0; i < 2; i++)
			part = part * 10 + (scan_is_digit(*p) ? (uint64_t)(*p++ - '0') : 0);
		while (scan_is_digit(*p))
			p++;
	}
	*ret = whole > UINT64_MAX / 200 ? UINT64_MAX : whole * 100 + part;
	return p;
}

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

/* `count` numbers with one blank behind each, as the kernel writes a line of its large tables, into
 * eight bytes each at `ret`; returns what follows the last blank. NULL = the text is not like that,
 * has more than 14 digits in a number, begins or ends nearby: read it number by number. The count
 * is even; the text is all that may be looked at, from `start` to its NUL at `end`. This is the way
 * of processors without vectors: the ends of numbers are found first, eight characters at a time.
 */
static inline const char *scan_numbers_plain(const char *start, const char *p, const char *end,
					     unsigned count, char *ret)
{
	const char *block = p;
	uint64_t others = 0, value;

	for (; count; count--, ret += sizeof(value)) {
		if (!others) {
			block = p;
			if (end - p < 64 + 16)
				return NULL;
			for (unsigned i = 0; i < 64; i += 8)
				others |= scan_others_of_eight(p + i) << i;
			if (!others)
				return NULL;
		}
		const char *stop = block + (unsigned)__builtin_ctzll(others);
		uint64_t len = (uint64_t)(stop - p);
		others &= others - 1;
		if (len - 1 < 8)
			value = scan_eight_value(scan_eight(p), len);
		else if (len - 1 < 14)
			value = scan_sixteen_value(p, len);
		else
			return NULL;
		if (*stop != ' ')
			return NULL;
		memcpy(ret, &value, sizeof(value));
		p = stop + 1;
	}
	return p;
}

#if defined(__SSE2__)

static inline __m128i scan_load(const void *p)
{
	return _mm_loadu_si128(p);
}

/* A bit for each of 16 characters that is a blank, the first in the lowest. */
static inline uint64_t scan_blanks_of_sixteen(const char *p)
{
	return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(scan_load(p), _mm_set1_epi8(' ')));
}

/* The last `len` of the 16 characters before `stop` as digits, behind zeroes; all of them when len
 * is larger, up to 63. */
static inline __m128i scan_digits(const char *stop, uint64_t len)
{
	static const uint8_t ones[80] __attribute__((aligned(32))) = { [16 ... 79] = 0xff };
	__m128i digits = _mm_sub_epi8(scan_load(stop - 16), _mm_set1_epi8('0'));

	return _mm_and_si128(digits, scan_load(ones + len));
}

/* What each four of 16 digits are worth. */
static inline __m128i scan_fours(__m128i digits)
{
	__m128i ten_one = _mm_set1_epi16(10 << 8 | 1);

	__asm__("" : "+x"(ten_one)); /* gcc would make five shifts and additions of it */
	__m128i twos = _mm_srli_epi16(_mm_mullo_epi16(digits, ten_one), 8);
	return _mm_madd_epi16(twos, _mm_set1_epi32(1 << 16 | 100));
}

/* Two numbers, of which the four fours are given. */
static inline __m128i scan_two_values(__m128i fours_a, __m128i fours_b)
{
	__m128i eights =
		_mm_madd_epi16(_mm_packs_epi32(fours_a, fours_b), _mm_set1_epi32(1 << 16 | 10000));

	return _mm_add_epi64(_mm_mul_epu32(eights, _mm_set1_epi64x(100000000)),
			     _mm_srli_epi64(eights, 32));
}

/* The same, each number as 16 digits and two at a time: the processor need not guess how long they
 * are. What was read is checked once, at the end. */
static inline const char *scan_numbers(const char *start, const char *p, const char *end,
				       unsigned count, char *ret)
{
	const char *const ret_end = ret + count * sizeof(uint64_t);
	const __m128i nines = _mm_set1_epi8(9);
	__m128i largest = nines;
	uint64_t gaps = 0;

	if (p - start < 16)
		return NULL;
	do {
		if (end - p < 64)
			return NULL;
		uint64_t blanks = scan_blanks_of_sixteen(p) | scan_blanks_of_sixteen(p + 16) << 16 |
				  scan_blanks_of_sixteen(p + 32) << 32 |
				  scan_blanks_of_sixteen(p + 48) << 48;
		uint64_t rest = blanks & (blanks - 1); /* without the first */
		uint64_t before = UINT64_MAX;          /* the blank before: at p[-1] */
		if (!rest || blanks & (blanks << 1 | 1))
			return NULL;
		do {
			uint64_t first = (uint64_t)__builtin_ctzll(blanks);
			uint64_t second = (uint64_t)__builtin_ctzll(rest);
			__m128i value = _mm_setzero_si128();
			if (memcmp(p + (before + 1), "0 0 ", 4) != 0) { /* half of all are 0 */
				__m128i a = scan_digits(p + first, first - before - 1);
				__m128i b = scan_digits(p + second, second - first - 1);
				gaps |= first - before;
				gaps |= second - first;
				largest = _mm_max_epu8(_mm_max_epu8(largest, a), b);
				value = scan_two_values(scan_fours(a), scan_fours(b));
			}
			_mm_storeu_si128((void *)ret, value);
			ret += sizeof(value);
			before = second;
			blanks = rest & (rest - 1);
			rest = blanks & (blanks - 1);
		} while (ret != ret_end && rest);
		p += before + 1;
	} while (ret != ret_end);
	if (gaps > 15 || _mm_movemask_epi8(_mm_cmpeq_epi8(largest, nines)) != 0xffff)
		return NULL;
	return p;
}

#else

static inline const char *scan_numbers(const char *start, const char *p, const char *end,
				       unsigned count, char *ret)
{
	return scan_numbers_plain(start, p, end, count, ret);
}

#endif

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

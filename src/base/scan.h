/* The fast way through large kernel tables, a thousand numbers a second: inline, one pass, no
 * error per number. Text is NUL-terminated; a number that is too large stays at 2^64-1. Where a
 * missing or odd number matters, use text.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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

/* The same for the largest tables, p on a digit of a text whose NUL is at `end`: eight characters
 * at once, because the processor guesses wrongly how long each number is. */
static inline const char *scan_u64_before(const char *p, const char *end, uint64_t *ret)
{
	uint64_t digits;

	if (!scan_is_digit(p[1])) { /* most are 0: no need to wait for how long it is */
		*ret = (uint64_t)(*p - '0');
		return p + 1;
	}
	if (end - p < 8)
		return scan_u64(p, ret);
	memcpy(&digits, p, sizeof(digits));
	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
		digits = __builtin_bswap64(digits);
	digits ^= UINT64_C(0x3030303030303030); /* each digit is its own value now */
	uint64_t other = ((digits + UINT64_C(0x7676767676767676)) | digits) &
			 UINT64_C(0x8080808080808080); /* the top bit of each byte that is none */
	unsigned len = other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
	digits <<= 64 - 8 * len; /* zeroes before it */
	digits = (digits * 10 + (digits >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
	digits = (digits * 100 + (digits >> 16)) & UINT64_C(0x0000ffff0000ffff);
	digits = (digits * 10000 + (digits >> 32)) & UINT64_C(0xffffffff);
	if (len == 8 && scan_is_digit(p[8])) {
		const char *start = p;
		for (p += 8; scan_is_digit(*p); p++)
			digits = digits * 10 + (uint64_t)(*p - '0');
		*ret = p - start > 19 ? UINT64_MAX : digits;
		return p;
	}
	*ret = digits;
	return p + len;
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

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

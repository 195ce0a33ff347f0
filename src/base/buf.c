#include "buf.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tick_path.h"

void buf_free(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}

EVERY_TICK void buf_clear(struct buf *b)
{
	b->len = 0;
	b->failed = false;
	if (b->data)
		b->data[0] = '\0';
}

/* Nothing fits from now on, so that those who look for room need not look for this. */
RARELY static bool buf_fail(struct buf *b)
{
	b->failed = true;
	b->cap = b->data ? b->len + 1 : 0;
	return false;
}

EVERY_TICK bool buf_reserve(struct buf *b, size_t more)
{
	size_t want = b->len + more + 1;

	if (b->failed)
		return false;
	if (want < more || want > SIZE_MAX / 2) /* what grows towards it must not wrap */
		return buf_fail(b);
	if (want <= b->cap)
		return true;
	size_t cap = b->cap ? b->cap : 64;
	while (cap < want)
		cap += cap / 2 + 64;
	char *grown = realloc(b->data, cap);
	if (!grown)
		return buf_fail(b);
	b->data = grown;
	b->cap = cap;
	return true;
}

/* Whether len bytes and the end fit without more memory. */
static inline bool buf_fits(const struct buf *b, size_t len)
{
	return b->cap - b->len > len;
}

EVERY_TICK void buf_add(struct buf *b, const void *bytes, size_t len)
{
	if (!buf_fits(b, len) && !buf_reserve(b, len))
		return;
	if (len)
		memcpy(b->data + b->len, bytes, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void buf_add_str(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

EVERY_TICK void buf_add_char(struct buf *b, char c)
{
	if (!buf_fits(b, 1) && !buf_reserve(b, 1))
		return;
	b->data[b->len++] = c;
	b->data[b->len] = '\0';
}

/* The digits of a number below 10^8, the first in the lowest byte: halves, quarters and eighths of
 * the word are divided at once. */
static uint64_t eight_digits(uint32_t value)
{
	uint64_t fours = value / 10000 | (uint64_t)(value % 10000) << 32;
	uint64_t hundreds = fours * 10486 >> 20 & UINT64_C(0x0000007f0000007f);
	uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
	uint64_t tens = twos * 103 >> 10 & UINT64_C(0x000f000f000f000f);

	return tens | (twos - 10 * tens) << 8;
}

static char *put_digits(char *at, uint64_t digits, unsigned skip)
{
	uint64_t text = htole64((digits | UINT64_C(0x3030303030303030)) >> 8 * skip);

	memcpy(at, &text, sizeof(text));
	return at + sizeof(text) - skip;
}

char *buf_put_u64(char *at, uint64_t value)
{
	const uint64_t eight = 100000000;

	if (value >= eight) {
		at = buf_put_u64(at, value / eight);
		return put_digits(at, eight_digits((uint32_t)(value % eight)), 0);
	}
	uint64_t digits = eight_digits((uint32_t)value);
	/* a last digit that is not 0 ends the search for the first one */
	return put_digits(at, digits, (unsigned)__builtin_ctzll(digits | UINT64_C(1) << 56) / 8);
}

void buf_add_u64(struct buf *b, uint64_t value)
{
	if (!buf_fits(b, BUF_U64) && !buf_reserve(b, BUF_U64))
		return;
	b->len = (size_t)(buf_put_u64(b->data + b->len, value) - b->data);
	b->data[b->len] = '\0';
}

void buf_vaddf(struct buf *b, const char *format, va_list args)
{
	va_list again;

	if (!buf_reserve(b, 0))
		return;
	/* mostly it fits at once */
	size_t room = b->cap - b->len;
	va_copy(again, args);
	int n = vsnprintf(b->data + b->len, room, format, again);
	va_end(again);
	if (n < 0 || ((size_t)n >= room && !buf_reserve(b, (size_t)n))) {
		b->data[b->len] = '\0';
		return;
	}
	if ((size_t)n >= room)
		vsnprintf(b->data + b->len, (size_t)n + 1, format, args);
	b->len += (size_t)n;
}

void buf_addf(struct buf *b, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	buf_vaddf(b, format, args);
	va_end(args);
}

EVERY_TICK const char *buf_str(const struct buf *b)
{
	return b->data ? b->data : "";
}

char *buf_take(struct buf *b)
{
	if (!b->data && !b->failed)
		buf_add(b, "", 0);
	char *taken = b->failed ? NULL : b->data;
	if (b->failed)
		free(b->data);
	*b = (struct buf){ 0 };
	return taken;
}

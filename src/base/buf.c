#include "buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_free(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->failed = false;
	if (b->data)
		b->data[0] = '\0';
}

bool buf_reserve(struct buf *b, size_t more)
{
	size_t want = b->len + more + 1;

	if (b->failed)
		return false;
	if (want < more) {
		b->failed = true;
		return false;
	}
	if (want <= b->cap)
		return true;
	size_t cap = b->cap ? b->cap : 64;
	while (cap < want)
		cap += cap / 2 + 64;
	char *grown = realloc(b->data, cap);
	if (!grown) {
		b->failed = true;
		return false;
	}
	b->data = grown;
	b->cap = cap;
	return true;
}

/* Whether len bytes and the end fit without more memory. */
static inline bool buf_fits(const struct buf *b, size_t len)
{
	return !b->failed && b->cap - b->len > len;
}

void buf_add(struct buf *b, const void *bytes, size_t len)
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

void buf_add_char(struct buf *b, char c)
{
	if (!buf_fits(b, 1) && !buf_reserve(b, 1))
		return;
	b->data[b->len++] = c;
	b->data[b->len] = '\0';
}

void buf_add_u64(struct buf *b, uint64_t value)
{
	enum { MOST = 20 };
	char digits[2 * MOST] = { 0 };
	size_t at = MOST;

	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	if (!buf_fits(b, MOST) && !buf_reserve(b, MOST))
		return;
	memcpy(b->data + b->len, digits + at, MOST); /* of a known length: no call */
	b->len += MOST - at;
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

const char *buf_str(const struct buf *b)
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

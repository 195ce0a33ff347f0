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
	if (b->failed)
		return false;
	size_t want = b->len + more + 1;
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

void buf_add(struct buf *b, const void *bytes, size_t len)
{
	if (!buf_reserve(b, len))
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
	buf_add(b, &c, 1);
}

void buf_vaddf(struct buf *b, const char *format, va_list args)
{
	va_list again;
	va_copy(again, args);
	int n = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (n < 0 || !buf_reserve(b, (size_t)n))
		return;
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

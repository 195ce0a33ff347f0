/* A growing byte buffer, always NUL-terminated, so that text parsers can take buf.data as it is.
 * Out of memory is sticky: further writes do nothing and buf_failed() tells at the end. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	char *data; /* never NULL after the first successful write */
	size_t len;
	size_t cap;
	bool failed;
};

void buf_free(struct buf *b);
void buf_clear(struct buf *b); /* keeps the memory */
bool buf_reserve(struct buf *b, size_t more);
void buf_add(struct buf *b, const void *bytes, size_t len);
void buf_add_str(struct buf *b, const char *text);
void buf_add_char(struct buf *b, char c);
void buf_add_u64(struct buf *b, uint64_t value); /* in decimal */
/* The same where there is room for BUF_U64 bytes, which may all be written to; returns its end. */
enum { BUF_U64 = 24 };
char *buf_put_u64(char *at, uint64_t value);
void buf_addf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vaddf(struct buf *b, const char *format, va_list args);
/* The text, "" when nothing was written. */
const char *buf_str(const struct buf *b);
/* Hand the memory to the caller (free() it); the buffer is empty afterwards. NULL when failed. */
char *buf_take(struct buf *b);

#define AUTO_BUF __attribute__((cleanup(buf_free)))

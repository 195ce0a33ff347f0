/* A bounded reader over the bytes of a perf.data record: unaligned, of either byte order. Reading
 * over the end is sticky and gives 0, so that a decoder checks once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct perf_bytes {
	const uint8_t *at, *end;
	bool swap;
	bool failed;
};

static inline size_t perf_bytes_left(const struct perf_bytes *b)
{
	return (size_t)(b->end - b->at);
}

static inline const void *perf_bytes_take(struct perf_bytes *b, size_t len)
{
	const void *p = b->at;
	if (b->failed || perf_bytes_left(b) < len) {
		b->failed = true;
		b->at = b->end;
		return NULL;
	}
	b->at += len;
	return p;
}

static inline uint64_t perf_bytes_u64(struct perf_bytes *b)
{
	uint64_t v = 0;
	const void *p = perf_bytes_take(b, 8);
	if (p)
		memcpy(&v, p, 8);
	return b->swap ? __builtin_bswap64(v) : v;
}

static inline uint32_t perf_bytes_u32(struct perf_bytes *b)
{
	uint32_t v = 0;
	const void *p = perf_bytes_take(b, 4);
	if (p)
		memcpy(&v, p, 4);
	return b->swap ? __builtin_bswap32(v) : v;
}

static inline uint16_t perf_bytes_u16(struct perf_bytes *b)
{
	uint16_t v = 0;
	const void *p = perf_bytes_take(b, 2);
	if (p)
		memcpy(&v, p, 2);
	return b->swap ? __builtin_bswap16(v) : v;
}

static inline uint8_t perf_bytes_u8(struct perf_bytes *b)
{
	const uint8_t *p = perf_bytes_take(b, 1);
	return p ? *p : 0;
}

/* A NUL-terminated text in place; the bytes up to the end when no NUL ends it. The reader moves
 * behind it. Never NULL. */
static inline const char *perf_bytes_text(struct perf_bytes *b, size_t *ret_len)
{
	const char *text = (const char *)b->at;
	size_t len = perf_bytes_left(b) ? strnlen(text, perf_bytes_left(b)) : 0;
	*ret_len = len;
	b->at += len < perf_bytes_left(b) ? len + 1 : len;
	return len ? text : "";
}

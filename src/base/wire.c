#include "wire.h"

#include <string.h>

#include "tick_path.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

static uint32_t crc32c_table(uint32_t crc, const uint8_t *p, size_t len)
{
	static uint32_t table[256];

	if (!table[1]) {
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t c = i;
			for (int k = 0; k < 8; k++)
				c = c & 1 ? c >> 1 ^ 0x82f63b78 : c >> 1;
			table[i] = c;
		}
	}
	while (len--)
		crc = table[(crc ^ *p++) & 0xff] ^ crc >> 8;
	return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) EVERY_TICK static uint32_t
crc32c_sse(uint32_t crc, const uint8_t *p, size_t len)
{
	uint64_t c = crc;
	for (; len >= 8; p += 8, len -= 8) {
		uint64_t word;
		memcpy(&word, p, 8);
		c = _mm_crc32_u64(c, word);
	}
	for (; len; p++, len--)
		c = _mm_crc32_u8((uint32_t)c, *p);
	return (uint32_t)c;
}
#endif

EVERY_TICK uint32_t crc32c(uint32_t crc, const void *bytes, size_t len)
{
	crc = ~crc;
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		return ~crc32c_sse(crc, bytes, len);
#endif
	return ~crc32c_table(crc, bytes, len);
}

EVERY_TICK void wire_put_u64(struct buf *out, uint64_t value)
{
	uint8_t bytes[10];
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[n++] = (uint8_t)(value | 0x80);
	bytes[n++] = (uint8_t)value;
	buf_add(out, bytes, n);
}

EVERY_TICK void wire_put_i64(struct buf *out, int64_t value)
{
	wire_put_u64(out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

EVERY_TICK void wire_put_bytes(struct buf *out, const void *bytes, size_t len)
{
	wire_put_u64(out, len);
	buf_add(out, bytes, len);
}

void wire_open(struct wire_reader *r, const void *bytes, size_t len)
{
	r->at = bytes;
	r->end = r->at + len;
	r->failed = false;
}

uint64_t wire_get_u64(struct wire_reader *r)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64 && !r->failed && r->at < r->end; shift += 7) {
		uint8_t byte = *r->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	r->failed = true;
	return 0;
}

int64_t wire_get_i64(struct wire_reader *r)
{
	uint64_t u = wire_get_u64(r);
	return (int64_t)(u >> 1 ^ -(u & 1));
}

const void *wire_get_bytes(struct wire_reader *r, size_t *ret_len)
{
	uint64_t len = wire_get_u64(r);

	if (r->failed || len > (size_t)(r->end - r->at)) {
		r->failed = true;
		*ret_len = 0;
		return NULL;
	}
	const void *bytes = r->at;
	r->at += len;
	*ret_len = (size_t)len;
	return bytes;
}

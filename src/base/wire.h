/* Bytes on disk: varints, zigzag, CRC32C. Readers are bounded and never trust a length. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

uint32_t crc32c(uint32_t crc, const void *bytes, size_t len); /* start with crc = 0 */

void wire_put_u64(struct buf *out, uint64_t value);                  /* LEB128, 1-10 bytes */
void wire_put_i64(struct buf *out, int64_t value);                   /* zigzag */
void wire_put_bytes(struct buf *out, const void *bytes, size_t len); /* length + bytes */

struct wire_reader {
	const uint8_t *at, *end;
	bool failed; /* sticky: a read ran over the end or a varint was too long; all later reads
			give 0 */
};

void wire_open(struct wire_reader *r, const void *bytes, size_t len);
uint64_t wire_get_u64(struct wire_reader *r);
int64_t wire_get_i64(struct wire_reader *r);
/* Bytes in place, not copied. NULL (and failed) when the length runs over the end. */
const void *wire_get_bytes(struct wire_reader *r, size_t *ret_len);

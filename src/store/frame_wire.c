#include "frame_wire.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "wire.h"

/* A byte that UTF-8 does not have. It only makes the search for the next frame quick: the checksum
 * is what counts. */
enum { MAGIC = 0xf5, VERSION_ZSTD = 0x80 };

/* 0 magic, 1 checksum, 5 kind, 6 version and zstd flag, 7 stored length, 10 time */
static uint32_t frame_wire_sum(const uint8_t *head, const void *stored, size_t len, uint32_t salt)
{
	uint32_t crc = crc32c(salt, head + 5, FRAME_HEAD_BYTES - 5);
	return crc32c(crc, stored, len);
}

void frame_wire_put(struct buf *out, uint32_t salt, const struct frame_head *head)
{
	uint8_t bytes[FRAME_HEAD_BYTES] = { MAGIC };
	uint64_t time_ns = htole64(head->time_ns);

	bytes[5] = (uint8_t)head->kind;
	bytes[6] = (uint8_t)((head->version & 0x7f) | (head->zstd ? VERSION_ZSTD : 0));
	bytes[7] = (uint8_t)head->stored_len;
	bytes[8] = (uint8_t)(head->stored_len >> 8);
	bytes[9] = (uint8_t)(head->stored_len >> 16);
	memcpy(bytes + 10, &time_ns, 8);
	uint32_t crc = htole32(frame_wire_sum(bytes, head->stored, head->stored_len, salt));
	memcpy(bytes + 1, &crc, 4);
	buf_add(out, bytes, sizeof(bytes));
	if (head->stored_len)
		buf_add(out, head->stored, head->stored_len);
}

uint32_t frame_wire_stored_len(const void *head)
{
	const uint8_t *p = head;
	return p[7] | (uint32_t)p[8] << 8 | (uint32_t)p[9] << 16;
}

ssize_t frame_wire_get(const void *bytes, size_t len, uint32_t salt, struct frame_head *ret)
{
	const uint8_t *p = bytes;
	uint64_t time_ns;
	uint32_t crc;

	if (len > 0 && p[0] != MAGIC)
		return -EBADMSG;
	if (len < FRAME_HEAD_BYTES)
		return -EAGAIN;
	memcpy(&crc, p + 1, 4);
	memcpy(&time_ns, p + 10, 8);
	uint32_t stored_len = frame_wire_stored_len(p);
	if (p[5] == 0)
		return -EBADMSG;
	if (stored_len > len - FRAME_HEAD_BYTES)
		return -EAGAIN;
	if (frame_wire_sum(p, p + FRAME_HEAD_BYTES, stored_len, salt) != le32toh(crc))
		return -EBADMSG;
	*ret = (struct frame_head){
		.kind = p[5],
		.version = p[6] & 0x7f,
		.zstd = p[6] & VERSION_ZSTD,
		.time_ns = le64toh(time_ns),
		.stored = p + FRAME_HEAD_BYTES,
		.stored_len = stored_len,
	};
	return (ssize_t)FRAME_HEAD_BYTES + stored_len;
}

/* How much frame_wire_get looks at to refuse what begins here. */
static uint64_t frame_wire_cost(const uint8_t *p, size_t len)
{
	if (len < FRAME_HEAD_BYTES)
		return 1;
	uint32_t stored_len = frame_wire_stored_len(p);
	return stored_len > len - FRAME_HEAD_BYTES ? 1 : stored_len + 1;
}

size_t frame_wire_find(const void *bytes, size_t len, size_t from, uint32_t salt, uint64_t *budget)
{
	const uint8_t *start = bytes;
	struct frame_head head;

	while (from < len) {
		const uint8_t *at = memchr(start + from, MAGIC, len - from);
		if (!at)
			return len;
		from = (size_t)(at - start);
		if (frame_wire_get(at, len - from, salt, &head) > 0)
			return from;
		uint64_t cost = frame_wire_cost(at, len - from);
		if (cost > *budget)
			return len;
		*budget -= cost;
		from++;
	}
	return len;
}

#include "frame_wire.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "wire.h"

/* Two bytes that are neither UTF-8 nor a likely varint pair. */
enum { MAGIC_0 = 0xf5, MAGIC_1 = 0x5a, VERSION_ZSTD = 0x80 };

/* 0 magic, 2 kind, 3 version and zstd flag, 4 checksum, 8 stored length, 12 time */
static uint32_t frame_wire_sum(const uint8_t *head, const void *stored, size_t len, uint32_t salt)
{
	uint32_t crc = crc32c(salt, head + 2, 2);
	crc = crc32c(crc, head + 8, FRAME_HEAD_BYTES - 8);
	return crc32c(crc, stored, len);
}

void frame_wire_put(struct buf *out, uint32_t salt, const struct frame_head *head)
{
	uint8_t bytes[FRAME_HEAD_BYTES] = { MAGIC_0, MAGIC_1, (uint8_t)head->kind,
					    (uint8_t)((head->version & 0x7f) |
						      (head->zstd ? VERSION_ZSTD : 0)) };
	uint32_t len = htole32(head->stored_len);
	uint64_t time_ns = htole64(head->time_ns);

	memcpy(bytes + 8, &len, 4);
	memcpy(bytes + 12, &time_ns, 8);
	uint32_t crc = htole32(frame_wire_sum(bytes, head->stored, head->stored_len, salt));
	memcpy(bytes + 4, &crc, 4);
	buf_add(out, bytes, sizeof(bytes));
	if (head->stored_len)
		buf_add(out, head->stored, head->stored_len);
}

ssize_t frame_wire_get(const void *bytes, size_t len, uint32_t salt, struct frame_head *ret)
{
	const uint8_t *p = bytes;
	uint32_t crc, stored_len;
	uint64_t time_ns;

	if ((len > 0 && p[0] != MAGIC_0) || (len > 1 && p[1] != MAGIC_1))
		return -EBADMSG;
	if (len < FRAME_HEAD_BYTES)
		return -EAGAIN;
	memcpy(&crc, p + 4, 4);
	memcpy(&stored_len, p + 8, 4);
	memcpy(&time_ns, p + 12, 8);
	stored_len = le32toh(stored_len);
	if (stored_len > FRAME_MOST_BYTES || p[2] == 0)
		return -EBADMSG;
	if (stored_len > len - FRAME_HEAD_BYTES)
		return -EAGAIN;
	if (frame_wire_sum(p, p + FRAME_HEAD_BYTES, stored_len, salt) != le32toh(crc))
		return -EBADMSG;
	*ret = (struct frame_head){
		.kind = p[2],
		.version = p[3] & 0x7f,
		.zstd = p[3] & VERSION_ZSTD,
		.time_ns = le64toh(time_ns),
		.stored = p + FRAME_HEAD_BYTES,
		.stored_len = stored_len,
	};
	return (ssize_t)FRAME_HEAD_BYTES + stored_len;
}

/* How much frame_wire_get looks at to refuse what begins here. */
static uint64_t frame_wire_cost(const uint8_t *p, size_t len)
{
	uint32_t stored_len;

	if (len < FRAME_HEAD_BYTES)
		return 1;
	memcpy(&stored_len, p + 8, 4);
	stored_len = le32toh(stored_len);
	return stored_len > len - FRAME_HEAD_BYTES ? 1 : stored_len + 1;
}

size_t frame_wire_find(const void *bytes, size_t len, size_t from, uint32_t salt, uint64_t *budget)
{
	const uint8_t *start = bytes;
	struct frame_head head;

	while (from < len) {
		const uint8_t *at = memchr(start + from, MAGIC_0, len - from);
		if (!at)
			return len;
		from = (size_t)(at - start);
		if (from + 1 < len && at[1] == MAGIC_1) {
			if (frame_wire_get(at, len - from, salt, &head) > 0)
				return from;
			uint64_t cost = frame_wire_cost(at, len - from);
			if (cost > *budget)
				return len;
			*budget -= cost;
		}
		from++;
	}
	return len;
}

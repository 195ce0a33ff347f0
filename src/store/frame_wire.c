#include "frame_wire.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "tick_path.h"
#include "timefmt.h"
#include "wire.h"

/* MAGIC is a byte that UTF-8 does not have. It only makes the search for the next frame quick: the
 * checksum is what counts. */
enum {
	MAGIC = 0xf5,
	SUMMED_FROM = 5, /* behind magic and checksum */
	KIND_MASK = 0x1f,
	KIND_VERSION = 0x20, /* a byte of version follows; else it is 1 */
	KIND_ZSTD = 0x80,
};

EVERY_TICK static size_t head_put_varint(uint8_t *at, uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		at[n++] = (uint8_t)(value | 0x80);
	at[n++] = (uint8_t)value;
	return n;
}

static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

/* Most frames come at about whole seconds after the start: seconds, and what is left. */
EVERY_TICK static size_t head_put_time(uint8_t *at, uint64_t since_ns)
{
	int64_t since = (int64_t)since_ns;
	int64_t half = since < 0 ? -(int64_t)NS_PER_S / 2 : (int64_t)NS_PER_S / 2;
	/* a time as far away as this cannot be rounded, only cut */
	int64_t seconds = (since < INT64_MAX / 2 && since > INT64_MIN / 2 ? since + half : since) /
			  (int64_t)NS_PER_S;
	size_t n = head_put_varint(at, zigzag((uint64_t)seconds));

	return n + head_put_varint(at + n, zigzag(since_ns - (uint64_t)seconds * NS_PER_S));
}

EVERY_TICK void frame_wire_put(struct buf *out, const struct segment_name *segment,
			       const struct frame_head *head)
{
	uint8_t bytes[FRAME_HEAD_MOST] = { MAGIC };
	size_t n = SUMMED_FROM;

	bytes[n++] = (uint8_t)(head->kind | (head->version != 1 ? KIND_VERSION : 0) |
			       (head->zstd ? KIND_ZSTD : 0));
	if (head->version != 1)
		bytes[n++] = (uint8_t)head->version;
	n += head_put_varint(bytes + n, head->stored_len);
	n += head_put_time(bytes + n, head->time_ns - segment->start_ns);
	uint32_t crc = crc32c(segment->salt, bytes + SUMMED_FROM, n - SUMMED_FROM);
	crc = htole32(crc32c(crc, head->stored, head->stored_len));
	memcpy(bytes + 1, &crc, 4);
	buf_add(out, bytes, n);
	if (head->stored_len)
		buf_add(out, head->stored, head->stored_len);
}

/* The head's fields, not yet checked; ret->stored is where the payload begins. */
static int head_parse(const uint8_t *p, size_t len, uint64_t start_ns, struct frame_head *ret)
{
	struct wire_reader r;

	if (len > 0 && p[0] != MAGIC)
		return -EBADMSG;
	if (len <= SUMMED_FROM)
		return -EAGAIN;
	unsigned kind = p[SUMMED_FROM];
	*ret = (struct frame_head){ .kind = (enum frame_kind)(kind & KIND_MASK),
				    .version = 1,
				    .zstd = kind & KIND_ZSTD };
	if (!ret->kind)
		return -EBADMSG;
	wire_open(&r, p + SUMMED_FROM + 1, len - SUMMED_FROM - 1);
	if (kind & KIND_VERSION) {
		if (r.at == r.end)
			return -EAGAIN;
		ret->version = *r.at++;
	}
	uint64_t stored_len = wire_get_u64(&r);
	uint64_t seconds = (uint64_t)wire_get_i64(&r);
	uint64_t rest = (uint64_t)wire_get_i64(&r);
	if (stored_len > FRAME_MOST_BYTES)
		return -EBADMSG;
	if (r.failed)
		return len < FRAME_HEAD_MOST ? -EAGAIN : -EBADMSG;
	ret->time_ns = start_ns + seconds * NS_PER_S + rest;
	ret->stored = r.at;
	ret->stored_len = (uint32_t)stored_len;
	return 0;
}

static ssize_t head_size(const uint8_t *p, const struct frame_head *head)
{
	return (const uint8_t *)head->stored - p + (ssize_t)head->stored_len;
}

ssize_t frame_wire_size(const void *bytes, size_t len)
{
	struct frame_head head;
	int r = head_parse(bytes, len, 0, &head);

	return r < 0 ? r : head_size(bytes, &head);
}

ssize_t frame_wire_get(const void *bytes, size_t len, const struct segment_name *segment,
		       struct frame_head *ret)
{
	const uint8_t *p = bytes;
	struct frame_head head;
	uint32_t crc;
	int r = head_parse(p, len, segment->start_ns, &head);

	if (r < 0)
		return r;
	ssize_t size = head_size(p, &head);
	if ((size_t)size > len)
		return -EAGAIN;
	memcpy(&crc, p + 1, 4);
	if (crc32c(segment->salt, p + SUMMED_FROM, (size_t)size - SUMMED_FROM) != le32toh(crc))
		return -EBADMSG;
	*ret = head;
	return size;
}

/* How much frame_wire_get looks at to refuse what begins here. */
static uint64_t frame_wire_cost(const uint8_t *p, size_t len)
{
	ssize_t size = frame_wire_size(p, len);

	return size < 0 || (size_t)size > len ? 1 : (uint64_t)size;
}

size_t frame_wire_find(const void *bytes, size_t len, size_t from,
		       const struct segment_name *segment, uint64_t *budget)
{
	const uint8_t *start = bytes;
	struct frame_head head;

	while (from < len) {
		const uint8_t *at = memchr(start + from, MAGIC, len - from);
		if (!at)
			return len;
		from = (size_t)(at - start);
		if (frame_wire_get(at, len - from, segment, &head) > 0)
			return from;
		uint64_t cost = frame_wire_cost(at, len - from);
		if (cost > *budget)
			return len;
		*budget -= cost;
		from++;
	}
	return len;
}

#include "frame_wire.h"
#include "fuzz.h"
#include "segment.h"
#include "store_gap.h"

/* Bytes as a whole segment (walked as the reader does), as a footer and as a gap marker. The salt
 * is that of the corpus files, so that mutations reach behind the checksum. */
static const struct segment_name name = { UINT64_C(1700000000000000000), 0x5eed };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct segment_index index = { 0 };
	uint64_t budget = 1 << 20, offset;
	struct frame_head head;
	struct store_gap gap;
	size_t at = 0;

	while (at < len) {
		ssize_t n = frame_wire_get(bytes + at, len - at, &name, &head);
		if (n <= 0) {
			at = frame_wire_find(bytes, len, at + 1, &name, &budget);
			continue;
		}
		if ((const uint8_t *)head.stored + head.stored_len > bytes + len)
			abort();
		AUTO_BUF struct buf again = { 0 };
		struct frame_head twice;
		frame_wire_put(&again, &name, &head);
		if (frame_wire_get(again.data, again.len, &name, &twice) != (ssize_t)again.len ||
		    twice.time_ns != head.time_ns || twice.kind != head.kind ||
		    twice.version != head.version || twice.stored_len != head.stored_len)
			abort();
		if (head.kind == FRAME_FOOTER && !head.zstd)
			segment_footer_parse(head.stored, head.stored_len, len, &index);
		at += (size_t)n;
	}
	if (segment_footer_parse(bytes, len, UINT64_MAX, &index) == 0) {
		AUTO_BUF struct buf again = { 0 };
		segment_footer_encode(&again, &index);
	}
	store_gap_decode(bytes, len, &gap);
	if (len >= SEGMENT_END_BYTES)
		segment_end_parse(bytes + len - SEGMENT_END_BYTES, name.salt, &offset);
	segment_index_free(&index);
	return 0;
}

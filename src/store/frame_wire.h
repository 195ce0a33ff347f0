/* A frame as bytes (docs/FORMAT.md): a head of 8 to 28 bytes, then the payload. The checksum starts
 * from the segment's salt, a random number that stands in the segment's file name: text that
 * somebody gets recorded cannot imitate a frame, also not after damage made us search for the next
 * one. Times are counted from the segment's start. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "buf.h"
#include "frame.h"
#include "segment.h"

enum {
	FRAME_HEAD_MOST = 32,
	FRAME_MOST_BYTES = (16 << 20) - 1, /* of a payload, compressed or not */
};

struct frame_head {
	enum frame_kind kind;
	unsigned version; /* 0..255 */
	bool zstd;
	uint64_t time_ns;
	const void *stored; /* the payload as it lies there */
	uint32_t stored_len;
};

/* Append one frame. head->stored may be NULL when stored_len is 0. */
void frame_wire_put(struct buf *out, const struct segment_name *segment,
		    const struct frame_head *head);
/* The size of the intact frame that begins at bytes; -EAGAIN: it may go on behind the end;
 * -EBADMSG: no intact frame begins here. */
ssize_t frame_wire_get(const void *bytes, size_t len, const struct segment_name *segment,
		       struct frame_head *ret);
/* The size of the frame that seems to begin at bytes, not yet checked; errors as above. */
ssize_t frame_wire_size(const void *bytes, size_t len);
/* Offset of the next intact frame at or after `from`, len when there is none. *budget is the number
 * of bytes that may be checksummed in vain; the search gives up when it is used. */
size_t frame_wire_find(const void *bytes, size_t len, size_t from,
		       const struct segment_name *segment, uint64_t *budget);

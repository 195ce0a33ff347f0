/* A frame as bytes (docs/FORMAT.md): an 18-byte head, then the payload. The checksum starts from
 * the segment's salt, a random number that stands in the segment's file name: text that somebody
 * gets recorded cannot imitate a frame, also not after damage made us search for the next one.
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "buf.h"
#include "frame.h"

enum {
	FRAME_HEAD_BYTES = 18,
	FRAME_MOST_BYTES = (16 << 20) - 1, /* of a payload, compressed or not */
};

struct frame_head {
	enum frame_kind kind;
	unsigned version; /* 0..127 */
	bool zstd;
	uint64_t time_ns;
	const void *stored; /* the payload as it lies there */
	uint32_t stored_len;
};

/* Append one frame. head->stored may be NULL when stored_len is 0. */
void frame_wire_put(struct buf *out, uint32_t salt, const struct frame_head *head);
/* The size of the intact frame that begins at bytes; -EAGAIN: it may go on behind the end;
 * -EBADMSG: no intact frame begins here. */
ssize_t frame_wire_get(const void *bytes, size_t len, uint32_t salt, struct frame_head *ret);
/* Of the FRAME_HEAD_BYTES at head, not yet checked. */
uint32_t frame_wire_stored_len(const void *head);
/* Offset of the next intact frame at or after `from`, len when there is none. *budget is the number
 * of bytes that may be checksummed in vain; the search gives up when it is used. */
size_t frame_wire_find(const void *bytes, size_t len, size_t from, uint32_t salt, uint64_t *budget);

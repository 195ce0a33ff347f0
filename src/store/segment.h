/* One segment file: its name, its index, its end. Pure, except that it reads no clock and opens no
 * file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "frame.h"
#include "vec.h"

enum {
	SEGMENT_NAME_MAX = 40,
	SEGMENT_MAGIC_BYTES = 8,
	SEGMENT_FORMAT_AT = 6,  /* the digit in it */
	SEGMENT_END_BYTES = 16, /* behind the footer: where the footer begins */
	SEGMENT_MOST_BYTES = 256 << 20,
	/* A frame's time lies at most so far from the anchor before which it was written. */
	SEGMENT_SLACK_S = 2,
};

#define SEGMENT_MOST_NS UINT64_C(600000000000) /* longest segment_ns allowed */

extern const char segment_magic[SEGMENT_MAGIC_BYTES];

struct segment_name {
	uint64_t start_ns; /* also the segment's number in struct frame */
	uint32_t salt;
};

void segment_name_print(char ret[SEGMENT_NAME_MAX], const struct segment_name *name);
bool segment_name_parse(const char *text, struct segment_name *ret);

struct segment_second {
	uint64_t time_ns; /* of the anchor */
	uint64_t offset;
};

struct segment_dict {
	enum frame_kind kind;
	uint64_t offset;
};

struct segment_blob {
	enum footer_kind kind;
	size_t offset; /* into the index's bytes */
	size_t len;
};

/* Where things lie in a segment: from its footer, or made by a scan. */
struct segment_index {
	uint64_t from_ns, to_ns; /* first anchor, one second past the last */
	uint32_t kinds;          /* FRAME_BITs that occur */
	char boot_id[40];
	uint64_t start_mono_ns, start_boot_ns; /* clocks at the name's start_ns; 0 = lost */
	VEC(struct segment_second) seconds;
	VEC(struct segment_dict) dicts;
	VEC(struct segment_blob) blobs;
	struct buf bytes; /* what blobs point into */
};

void segment_index_clear(struct segment_index *index); /* keeps the memory */
void segment_index_free(struct segment_index *index);
/* Note a frame of that kind at that offset. */
bool segment_index_add(struct segment_index *index, enum frame_kind kind, uint64_t time_ns,
		       uint64_t offset);
/* Replaces the blob of the same kind. */
bool segment_index_put_blob(struct segment_index *index, enum footer_kind kind, const void *bytes,
			    size_t len);
void segment_footer_encode(struct buf *out, const struct segment_index *index);
/* file_len bounds every offset. -EBADMSG when the bytes are no footer. */
int segment_footer_parse(const void *bytes, size_t len, uint64_t file_len,
			 struct segment_index *ret);
void segment_end_put(struct buf *out, uint32_t salt, uint64_t footer_offset);
bool segment_end_parse(const uint8_t bytes[SEGMENT_END_BYTES], uint32_t salt,
		       uint64_t *ret_footer_offset);
/* Frames that others of their segment need to be read. */
static inline bool segment_is_dict(enum frame_kind kind)
{
	return kind == FRAME_KEY || kind == FRAME_STACKS || kind == FRAME_META;
}

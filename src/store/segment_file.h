/* An open segment file for reading: its index, and its frames by offset. Works on sealed segments
 * (index from the footer), on one that is being written and on damaged ones (index from a scan). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <zstd.h>

#include "buf.h"
#include "err.h"
#include "frame_wire.h"
#include "segment.h"

struct segment_file {
	int fd; /* -1 = closed */
	struct segment_name name;
	bool sealed;         /* index and end_offset come from an intact footer */
	uint64_t end_offset; /* sealed: where the footer begins */
	struct segment_index index;
	struct buf bytes; /* a part of the file ... */
	uint64_t base;    /* ... that begins at this offset */
	uint64_t budget;  /* for frame_wire_find */
};

/* -ENOENT when retention took it meanwhile. *zstd and *scratch are the caller's, for the footer. */
int segment_file_open(struct segment_file *f, int dir_fd, const struct segment_name *name,
		      ZSTD_DCtx *zstd, struct buf *scratch, struct err *err);
void segment_file_close(struct segment_file *f); /* keeps memory for the next */
void segment_file_free(struct segment_file *f);
/* Load [from, to) of the file into bytes, as far as it exists. */
int segment_file_load(struct segment_file *f, uint64_t from, uint64_t to, struct err *err);
/* Load again what lies at `from` and behind it, which is being written; 1 = an intact frame is
 * there. */
int segment_file_load_more(struct segment_file *f, uint64_t from, struct err *err);
/* The payload in plain; -EBADMSG when it does not decompress. *ret points into head's bytes or
 * scratch. */
int segment_file_payload(const struct frame_head *head, ZSTD_DCtx *zstd, struct buf *scratch,
			 const void **ret, size_t *ret_len);
/* Sealed: where the frames at or after that time may begin, and where those before it end. */
uint64_t segment_file_offset_before(const struct segment_file *f, uint64_t time_ns);
uint64_t segment_file_offset_after(const struct segment_file *f, uint64_t time_ns);
/* A segment without footer: until when it may have been written at most, good_ns being the time of
 * its last intact frame (0 = none). */
uint64_t segment_file_written_until(const struct segment_file *f, uint64_t good_ns);
/* What is wrong with an open segment that gives nothing, without its name. */
const char *segment_file_tell_empty(const struct segment_file *f);

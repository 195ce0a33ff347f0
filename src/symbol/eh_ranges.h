/* Where functions of a stripped file begin and end: the unwind tables stay when names go. A sample
 * without a name is then at least told by its function, not by its instruction: fewer and truer
 * frames. Pure, nothing is trusted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vec.h"

struct eh_range {
	uint64_t start;
	uint32_t size;
};

struct eh_ranges {
	VEC(struct eh_range) list; /* by start */
};

/* Bytes and addresses of .eh_frame_hdr and .eh_frame. Only the encodings that linkers write
 * (sorted table of 32-bit offsets, pc-relative 32-bit entries) are read. The number of ranges. */
size_t eh_ranges_parse(const void *header, size_t header_len, uint64_t header_address,
		       const void *frame, size_t frame_len, uint64_t frame_address,
		       struct eh_ranges *ret);
/* The function around address; false = none. */
bool eh_ranges_find(const struct eh_ranges *r, uint64_t address, uint64_t *ret_start);
void eh_ranges_free(struct eh_ranges *r);

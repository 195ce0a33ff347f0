/* The payload of FRAME_GAP: a stretch of time of which the recording lost something. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "buf.h"

struct store_gap {
	uint64_t from_ns, to_ns;
	uint64_t frames; /* lost, as far as known */
	char why[120];
};

void store_gap_encode(struct buf *out, const struct store_gap *gap);
int store_gap_decode(const void *bytes, size_t len, struct store_gap *ret); /* -EBADMSG */

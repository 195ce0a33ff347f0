/* The payload of FRAME_KMSG: raw kernel log records as they were read, and how far the ring was
 * read, so that a new recorder goes on where the last one stopped. */
#pragma once

#include "buf.h"
#include "wire.h"

enum { KMSG_BATCH_VERSION = 1 };

struct kmsg_batch {
	const char *boot_id; /* not terminated */
	size_t boot_id_len;
	uint64_t last_seq; /* records up to here need not be read again: they are in the recording,
			      and so are the events they led to */
	uint64_t lost;     /* records lost since recording began */
	uint64_t records;
	struct wire_reader rest;
};

void kmsg_batch_begin(struct buf *out, const char *boot_id, uint64_t last_seq, uint64_t lost,
		      uint64_t records);
void kmsg_batch_add(struct buf *out, uint64_t real_ns, const char *raw, size_t len);

/* -EBADMSG when the bytes are no batch. */
int kmsg_batch_open(struct kmsg_batch *b, const void *bytes, size_t len);
/* 1 = one record, 0 = end or damage. */
int kmsg_batch_next(struct kmsg_batch *b, uint64_t *ret_real_ns, const char **ret_raw,
		    size_t *ret_len);

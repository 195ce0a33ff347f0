/* From memory to disk: segments wait here, the oldest first, until the disk has taken them.
 * Normally that is one segment and a second's bytes; when the disk is full or fails it is a ring in
 * memory from which the oldest segments fall out, and what fell out is remembered as a gap. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "store_gap.h"
#include "store_retain.h"
#include "store_tail.h"
#include "vec.h"

struct store_queued {
	struct segment_name name;
	struct store_tail tail; /* the file */
	uint64_t len;           /* of the whole segment so far, written or not */
	struct buf pending;     /* not written yet */
	uint64_t pending_frames;
	uint64_t from_ns, to_ns; /* time of the pending frames */
	bool sealed;
	bool broken; /* bytes of it were given up: nothing more may be added */
};

struct store_queue {
	int dir_fd;                  /* borrowed */
	struct store_retain *retain; /* borrowed */
	uint64_t most_bytes;         /* in memory */
	VEC(struct store_queued *) list;
	struct buf spare;     /* memory for the next segment */
	struct store_gap gap; /* frames = 0: none */
	uint64_t lost_frames; /* of which ... */
	uint64_t sync_lost;   /* ... the disk had taken so many and failed to keep them */
	uint64_t written_bytes;
	char degraded[160]; /* "" = all is well */
};

void store_queue_free(struct store_queue *q);
/* A new last segment; NULL when out of memory. */
struct store_queued *store_queue_push(struct store_queue *q, const struct segment_name *name);
/* The present segment, NULL when there is none that takes more. */
struct store_queued *store_queue_last(const struct store_queue *q);
/* A frame was added to the last segment's pending bytes. */
void store_queue_added(struct store_queue *q, uint64_t time_ns, size_t bytes);
/* Write what can be written, then keep the rest inside the bound. */
void store_queue_flush(struct store_queue *q);
/* The disk lost what it had said to hold. */
void store_queue_lost(struct store_queue *q, uint64_t from_ns, uint64_t to_ns, const char *why);

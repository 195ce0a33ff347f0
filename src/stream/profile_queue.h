/* Samples between the ring and the disk: already located, not yet named, because their symbol files
 * are still being read. First in, first out, in time order. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "symbolizer.h"

struct profile_queued {
	uint64_t time_ns; /* wall clock */
	uint64_t cgroup;
	uint32_t pid, tid, cpu;
	uint32_t n;
	char comm[16];
	struct symbolizer_place chain[]; /* leaf first */
};

struct profile_queue {
	struct buf bytes;
	size_t head; /* offset of the first one */
};

enum { PROFILE_QUEUE_MOST_BYTES = 64 << 20 };

/* Room for a sample of n frames; NULL = over the bound or out of memory. */
struct profile_queued *profile_queue_add(struct profile_queue *q, uint32_t n);
struct profile_queued *profile_queue_first(const struct profile_queue *q); /* NULL = empty */
void profile_queue_drop(struct profile_queue *q);                          /* the first one */
void profile_queue_free(struct profile_queue *q);

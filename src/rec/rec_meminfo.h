/* Memory now, from /proc/meminfo. One row. */
#pragma once

#include "rec.h"

struct rec_meminfo {
	uint64_t have;
	uint64_t total;
	uint64_t free;
	uint64_t available;
	uint64_t buffers;
	uint64_t cached;
	uint64_t swap_total;
	uint64_t swap_free;
	uint64_t active;
	uint64_t inactive;
	uint64_t dirty;
	uint64_t writeback;
	uint64_t anon;
	uint64_t mapped;
	uint64_t shmem;
	uint64_t slab;
	uint64_t sreclaimable;
	uint64_t sunreclaim;
	uint64_t kernel_stack;
	uint64_t page_tables;
	uint64_t percpu;
	uint64_t committed;
};

enum {
	REC_MEMINFO_TOTAL = 1 << 0,
	REC_MEMINFO_FREE = 1 << 1,
	REC_MEMINFO_AVAILABLE = 1 << 2,
	REC_MEMINFO_BUFFERS = 1 << 3,
	REC_MEMINFO_CACHED = 1 << 4,
	REC_MEMINFO_SWAP_TOTAL = 1 << 5,
	REC_MEMINFO_SWAP_FREE = 1 << 6,
	REC_MEMINFO_ACTIVE = 1 << 7,
	REC_MEMINFO_INACTIVE = 1 << 8,
	REC_MEMINFO_DIRTY = 1 << 9,
	REC_MEMINFO_WRITEBACK = 1 << 10,
	REC_MEMINFO_ANON = 1 << 11,
	REC_MEMINFO_MAPPED = 1 << 12,
	REC_MEMINFO_SHMEM = 1 << 13,
	REC_MEMINFO_SLAB = 1 << 14,
	REC_MEMINFO_SRECLAIMABLE = 1 << 15,
	REC_MEMINFO_SUNRECLAIM = 1 << 16,
	REC_MEMINFO_KERNEL_STACK = 1 << 17,
	REC_MEMINFO_PAGE_TABLES = 1 << 18,
	REC_MEMINFO_PERCPU = 1 << 19,
	REC_MEMINFO_COMMITTED = 1 << 20,
};

extern const struct rec_desc rec_meminfo_desc;

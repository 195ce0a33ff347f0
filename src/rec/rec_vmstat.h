/* Reclaim, faults and swap since boot, from /proc/vmstat. One row. */
#pragma once

#include "rec.h"

struct rec_vmstat {
	uint64_t have;
	uint64_t pgscan_direct;
	uint64_t pgscan_kswapd;
	uint64_t pgsteal_direct;
	uint64_t pgsteal_kswapd;
	uint64_t allocstall;
	uint64_t compact_stall;
	uint64_t oom_kill;
	uint64_t pgfault;
	uint64_t pgmajfault;
	uint64_t pswpin;
	uint64_t pswpout;
	uint64_t workingset_refault;
	uint64_t kswapd_low_wmark_hit_quickly;
	uint64_t drop_pagecache;
	uint64_t drop_slab;
};

enum {
	REC_VMSTAT_PGSCAN_DIRECT = 1 << 0,
	REC_VMSTAT_PGSCAN_KSWAPD = 1 << 1,
	REC_VMSTAT_PGSTEAL_DIRECT = 1 << 2,
	REC_VMSTAT_PGSTEAL_KSWAPD = 1 << 3,
	REC_VMSTAT_ALLOCSTALL = 1 << 4,
	REC_VMSTAT_COMPACT_STALL = 1 << 5,
	REC_VMSTAT_OOM_KILL = 1 << 6,
	REC_VMSTAT_PGFAULT = 1 << 7,
	REC_VMSTAT_PGMAJFAULT = 1 << 8,
	REC_VMSTAT_PSWPIN = 1 << 9,
	REC_VMSTAT_PSWPOUT = 1 << 10,
	REC_VMSTAT_WORKINGSET_REFAULT = 1 << 11,
	REC_VMSTAT_KSWAPD_LOW_WMARK_HIT_QUICKLY = 1 << 12,
	REC_VMSTAT_DROP_PAGECACHE = 1 << 13,
	REC_VMSTAT_DROP_SLAB = 1 << 14,
};

extern const struct rec_desc rec_vmstat_desc;

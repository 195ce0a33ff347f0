/* What the recorder itself costs and misses: one row in every recorded tick. */
#pragma once

#include "rec.h"

struct rec_self {
	uint64_t have;
	uint64_t cpu_ns, rss_bytes, major_faults, ticks, missed_ticks, lateness_ns, tick_cpu_ns,
		shed_level, store_bytes, lost_frames;
};

enum {
	REC_SELF_CPU = 1 << 0,
	REC_SELF_RSS = 1 << 1,
	REC_SELF_FAULTS = 1 << 2,
	REC_SELF_TICKS = 1 << 3,
	REC_SELF_MISSED = 1 << 4,
	REC_SELF_LATENESS = 1 << 5,
	REC_SELF_TICK_CPU = 1 << 6,
	REC_SELF_SHED = 1 << 7,
	REC_SELF_STORE = 1 << 8,
	REC_SELF_LOST = 1 << 9,
};

extern const struct rec_desc rec_self_desc;

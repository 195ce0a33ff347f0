/* Packet backlog per core since boot, from /proc/net/softnet_stat. */
#pragma once

#include "rec.h"

struct rec_softnet {
	uint64_t have;
	uint64_t cpu;
	uint64_t processed;
	uint64_t dropped;
	uint64_t squeezed;
	uint64_t rps;
	uint64_t flow_limit;
	uint64_t backlog;
};

enum {
	REC_SOFTNET_CPU = 1 << 0,
	REC_SOFTNET_PROCESSED = 1 << 1,
	REC_SOFTNET_DROPPED = 1 << 2,
	REC_SOFTNET_SQUEEZED = 1 << 3,
	REC_SOFTNET_RPS = 1 << 4,
	REC_SOFTNET_FLOW_LIMIT = 1 << 5,
	REC_SOFTNET_BACKLOG = 1 << 6,
};

extern const struct rec_desc rec_softnet_desc;

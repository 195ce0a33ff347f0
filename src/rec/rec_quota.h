/* A cgroup with a CPU quota, from its cpu.stat. */
#pragma once

#include "rec.h"

struct rec_quota {
	uint64_t have;
	const char *cgroup;
	uint64_t quota;
	uint64_t period;
	uint64_t periods;
	uint64_t throttled;
	uint64_t throttled_time;
};

enum {
	REC_QUOTA_CGROUP = 1 << 0,
	REC_QUOTA_QUOTA = 1 << 1,
	REC_QUOTA_PERIOD = 1 << 2,
	REC_QUOTA_PERIODS = 1 << 3,
	REC_QUOTA_THROTTLED = 1 << 4,
	REC_QUOTA_THROTTLED_TIME = 1 << 5,
};

extern const struct rec_desc rec_quota_desc;

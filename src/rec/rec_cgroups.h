/* How many memory cgroups the kernel tracks, how many of them userspace still sees, and how many
 * are dying. One row. */
#pragma once

#include "rec.h"

struct rec_cgroups {
	uint64_t have;
	uint64_t mode;
	uint64_t memory;
	uint64_t tracked;
	uint64_t live;
	uint64_t dying;
	uint64_t descendants;
	uint64_t dying_descendants;
	uint64_t dying_memory;
};

enum {
	REC_CGROUPS_MODE = 1 << 0,
	REC_CGROUPS_MEMORY = 1 << 1,
	REC_CGROUPS_TRACKED = 1 << 2,
	REC_CGROUPS_LIVE = 1 << 3,
	REC_CGROUPS_DYING = 1 << 4,
	REC_CGROUPS_DESCENDANTS = 1 << 5,
	REC_CGROUPS_DYING_DESCENDANTS = 1 << 6,
	REC_CGROUPS_DYING_MEMORY = 1 << 7,
};

extern const struct rec_desc rec_cgroups_desc;

/* tracked, live and dying memory cgroups, on v1, v2 and hybrid hosts. */
#pragma once

#include "offer.h"
#include "rec_cgroups.h"
#include "tick.h"
#include "unknowns.h"

struct cgroup_counts {
	struct reread proc_cgroups, stat;
	char stat_path[300];
	uint64_t next_walk_ns; /* monotonic: a walk that cost much waits before the next */
	bool opened;
};

void cgroup_counts_open(struct cgroup_counts *c, const struct root *root,
			const struct offer *offer);
/* Fills the REC_CGROUPS row; what cannot be read is named. A live count that would cost more than
 * 0.2 % of one core is taken less often than every second: its field is then absent. */
void cgroup_counts_read(struct cgroup_counts *c, const struct root *root, const struct offer *offer,
			struct buf *text, struct tick *ret, struct unknowns *unknowns);
void cgroup_counts_close(struct cgroup_counts *c);
/* From what was read, which of the numbers are known and what they are. Pure. */
void cgroup_counts_judge(struct rec_cgroups *row, const struct offer *offer);

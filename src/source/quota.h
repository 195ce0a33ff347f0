/* Cgroups with a CPU quota and how often they were stopped: cpu.stat with cpu.cfs_quota_us (v1) or
 * cpu.max (v2). Throttling comes from the quota, never from memory reclaim. */
#pragma once

#include "offer.h"
#include "rec_quota.h"
#include "tick.h"
#include "unknowns.h"
#include "vec.h"

struct quota_group;

struct quota {
	VEC(struct quota_group *) groups; /* those with a quota */
	VEC(char *) waiting;              /* directories still to be asked for a quota */
	size_t asked;                     /* how many of them were */
	uint64_t next_search_ns;          /* monotonic */
};

enum { QUOTA_MOST = 128 };

/* Pure parts. cpu.max: "max 100000" = no quota (-ENODATA) or "50000 100000". */
int quota_parse_max(const char *text, struct rec_quota *ret);
int quota_parse_stat(const char *text, bool v2, struct rec_quota *ret);

/* Looks for cgroups with a quota, a slice of the tree per call (all at once when thorough), then
 * adds a REC_QUOTA row for each that is known. */
void quota_read(struct quota *q, const struct root *root, const struct offer *offer, bool thorough,
		struct buf *text, struct tick *ret, struct unknowns *unknowns);
void quota_close(struct quota *q);

/* The censuses of a recording: how many zombies there were, when. */
#pragma once

#include <stdint.h>

#include "buf.h"
#include "census_summary.h"
#include "cgroup_lives.h"
#include "churn_summary.h"
#include "err.h"
#include "reclaim_summary.h"
#include "vec.h"

enum { CENSUS_HISTORY_RECLAIM_POINTS = 2000 };

struct census_history {
	VEC(struct census_point) list;            /* in time order */
	VEC(struct reclaim_point) reclaim_points; /* of stretches with enough passes, in order */
	struct reclaim_summary reclaim;
	bool have_reclaim; /* it was measured; there may have been none */
	struct churn_summary churn;
	bool have_churn;
	struct census_summary last;
	bool have_last;
	struct buf meta; /* lines of the META frame, only of census_history_window */
};

/* Of the last `span_ns` before `to_ns`. */
int census_history_read(const char *store_dir, uint64_t to_ns, uint64_t span_ns,
			struct census_history *ret, struct err *err);
/* All of [from, to). */
struct store_reader;
int census_history_window(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
			  struct census_history *ret, struct err *err);
/* Dates and creators of the cgroups that were removed in [from, to) and became zombies, and the
 * serial numbers that the censuses saw. *ret_recorded: there were frames at all. */
int census_history_lives(const char *store_dir, uint64_t from_ns, uint64_t to_ns,
			 struct cgroup_lives *ret, bool *ret_recorded, struct err *err);
void census_history_free(struct census_history *h);

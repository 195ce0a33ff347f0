/* What belongs to zombies beside the zombies themselves: who makes them, how fast they grow and
 * when that will hurt, what they cost. Live, a command fills it from the host; here it is filled
 * from a recording. */
#pragma once

#include "census_history.h"
#include "growth.h"
#include "stream.h"
#include "unknowns.h"
#include "zombie_cost.h"

struct around {
	struct churn_summary churn;
	bool churn_known;
	struct churn_summary past; /* churn of the last recorded day, beside a live census */
	struct reclaim_summary reclaim;
	bool reclaim_known; /* it was watched; there may have been none */
	struct cgroup_lives lives;
	struct zombie_cost cost;
	bool cost_known; /* measured on this host, now */
	struct zombie_verdict verdict;
	bool verdict_known;
	struct growth growth;
	struct footprint footprint;
	uint64_t host_bytes; /* RAM of the host; 0 = not known */
};

/* Which part of a recording tells what. */
struct around_window {
	uint64_t trend_from_ns; /* growth and the last census: [trend_from, to) */
	uint64_t from_ns;       /* churn and reclaim: [from, to) */
	uint64_t to_ns;
};

/* Growth, footprint and onsets; verdict, cost and host_bytes must be known before. now: the census
 * that the cost belongs to. */
void around_judge(const struct census_history *h, const struct census_summary *now,
		  struct around *a);
/* *ret_history gets the censuses, the last one whole, and the META lines; both must be zeroed, and
 * freed also after a failure. No census at all is no failure: ret_history->have_last tells. */
int around_read_recorded(struct stream *stream, const struct around_window *w,
			 struct census_history *ret_history, struct around *ret, struct err *err);
/* What of it a recording did not tell. */
void around_add_unknown(const struct around *a, const struct census_history *h,
			struct unknowns *unknowns);
void around_free(struct around *a);

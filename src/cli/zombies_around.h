/* What `zscope zombies` shows beside the zombies themselves, live and from a recording. */
#pragma once

#include "census_history.h"
#include "command.h"
#include "growth.h"
#include "json.h"
#include "reclaim_summary.h"
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

/* Growth and footprint; the verdict and host_bytes must be known before. */
void zombies_judge_history(const struct census_history *h, struct around *a);
void zombies_around_json(struct json *j, const struct around *a, const struct census_summary *s);
void zombies_around_text(struct invocation *in, const struct around *a,
			 const struct census_summary *s);
void zombies_around_free(struct around *a);

/* The whole answer from the window of a recording. asks_live: an option was given that only the
 * running kernel can answer. */
int zombies_recorded(struct invocation *in, bool asks_live, struct err *err);

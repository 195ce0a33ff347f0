/* The rules: each asks one question of the facts. To add one: a row in rules.c, a judge in the
 * rules_*.c file of its topic, a section in docs/DIAGNOSIS.md, a case and a silent case in
 * tests/unit/test_rules.c. */
#pragma once

#include "facts.h"
#include "finding.h"
#include "unknowns.h"

/* Every number that a verdict depends on, with its reason in docs/DIAGNOSIS.md. */
struct thresholds {
	double crash_restarts_per_hour; /* a unit that restarts more often loops */
	double container_creates_per_min;
	uint64_t container_least_creates;
	double cgroup_made_per_min;
	uint64_t cgroup_least_left; /* removed but not released */
	uint64_t zombies_count;     /* fewer hurt nobody */
	double zombies_ratio;       /* tracked / live */
	double zombies_per_hour;    /* growth that hurts within days */
	double walk_share_percent;  /* of a process's samples */
	uint64_t walk_least_samples;
	uint64_t walk_read_ns;    /* a read of memory.stat that takes so long walks */
	double walk_sys_percent;  /* of a core, in the kernel, by one that is seen reading it */
	double saturated_percent; /* of one core */
	uint64_t saturated_least_ns;
	double hidden_host_percent; /* the mean below which one saturated core goes unseen */
	double direct_pages_per_s, kswapd_pages_per_s;
	double psi_memory_some, psi_memory_full;
	double throttled_percent;
	double coincide_correlation;
	double steal_percent;
	double missing_ticks_percent;
	unsigned missing_ticks_seconds;
	double soft_percent;
	double kubepods_weight_ratio;
	double log_lines_per_s;
};

extern const struct thresholds thresholds_default;

struct rule {
	const char *id;
	const char *asks;   /* the question, for people */
	uint32_t needs;     /* all of these sources, else silent and listed as unknown */
	uint32_t or_else;   /* what it can still ask of, in a weaker way, when those are missing */
	const char *advice; /* what to do */
	const char *doc;    /* anchor in docs/DIAGNOSIS.md */
	void (*judge)(const struct facts *f, const struct thresholds *t, struct findings *all);
};

const struct rule *rules_all(size_t *ret_len);
const struct rule *rules_find(const char *id);
/* Ask every rule. A rule whose needs are not met is silent and stands in *unknown. */
void rules_judge(const struct facts *f, const struct thresholds *t, struct findings *all,
		 struct unknowns *unknown);

/* Judges, by topic. */
void judge_unit_crash_loop(const struct facts *, const struct thresholds *, struct findings *);
void judge_unit_misfit(const struct facts *, const struct thresholds *, struct findings *);
void judge_container_churn(const struct facts *, const struct thresholds *, struct findings *);
void judge_cgroup_churn(const struct facts *, const struct thresholds *, struct findings *);
void judge_memcg_zombies(const struct facts *, const struct thresholds *, struct findings *);
void judge_memcg_walk_cost(const struct facts *, const struct thresholds *, struct findings *);
void judge_accumulating_state(const struct facts *, const struct thresholds *, struct findings *);
void judge_core_saturated(const struct facts *, const struct thresholds *, struct findings *);
void judge_rt_hog(const struct facts *, const struct thresholds *, struct findings *);
void judge_steal(const struct facts *, const struct thresholds *, struct findings *);
void judge_missing_ticks(const struct facts *, const struct thresholds *, struct findings *);
void judge_softirq_storm(const struct facts *, const struct thresholds *, struct findings *);
void judge_queue_starved(const struct facts *, const struct thresholds *, struct findings *);
void judge_net_driver_reset(const struct facts *, const struct thresholds *, struct findings *);
void judge_log_flood(const struct facts *, const struct thresholds *, struct findings *);
void judge_reclaim_pressure(const struct facts *, const struct thresholds *, struct findings *);
void judge_cpu_throttled(const struct facts *, const struct thresholds *, struct findings *);
void judge_throttle_meets_reclaim(const struct facts *, const struct thresholds *,
				  struct findings *);
void judge_kubepods_weight(const struct facts *, const struct thresholds *, struct findings *);
void judge_oom_kill(const struct facts *, const struct thresholds *, struct findings *);

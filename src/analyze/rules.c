#include <string.h>

#include "auto.h"
#include "rule.h"

const struct thresholds thresholds_default = {
	.crash_restarts_per_hour = 12,
	.container_creates_per_min = 0.5,
	.container_least_creates = 3,
	.cgroup_made_per_min = 20,
	.cgroup_least_left = 3,
	.zombies_count = 1000,
	.zombies_ratio = 4,
	.zombies_per_hour = 100,
	.walk_share_percent = 25,
	.walk_least_samples = 20,
	.walk_read_ns = UINT64_C(5000000),
	.walk_sys_percent = 25,
	.saturated_percent = 95,
	.saturated_least_ns = UINT64_C(2000000000),
	.hidden_host_percent = 50,
	.direct_pages_per_s = 1000,
	.kswapd_pages_per_s = 20000,
	.psi_memory_some = 10,
	.psi_memory_full = 5,
	.throttled_percent = 25,
	.coincide_correlation = 0.6,
	.steal_percent = 25,
	.missing_ticks_percent = 50,
	.missing_ticks_seconds = 3,
	.soft_percent = 60,
	.kubepods_weight_ratio = 10,
	.log_lines_per_s = 500,
};

static const struct rule table[] = {
	{
		.id = "unit-misfit",
		.asks = "does an enabled unit not belong on this kind of host?",
		.needs = FACT_UNITS,
		.advice = "mask the unit; in the image, mask it or write a preset",
		.doc = "unit-misfit",
		.judge = judge_unit_misfit,
	},
	{
		.id = "unit-crash-loop",
		.asks = "does a unit restart again and again?",
		.needs = FACT_UNITS,
		.advice = "stop and mask the unit, or mend its configuration",
		.doc = "unit-crash-loop",
		.judge = judge_unit_crash_loop,
	},
	{
		.id = "container-churn",
		.asks = "is a container of one name created again and again?",
		.needs = FACT_CONTAINERS,
		.advice = "stop whoever recreates it",
		.doc = "container-churn",
		.judge = judge_container_churn,
	},
	{
		.id = "cgroup-churn",
		.asks = "are memory cgroups made and removed at a high rate?",
		.needs = FACT_CHURN,
		.advice = "stop whoever makes them",
		.doc = "cgroup-churn",
		.judge = judge_cgroup_churn,
	},
	{
		.id = "memcg-zombies",
		.asks = "does the kernel track far more memory cgroups than exist?",
		.needs = FACT_MEMCG,
		.advice = "purge them: zscope purge",
		.doc = "memcg-zombies",
		.judge = judge_memcg_zombies,
	},
	{
		.id = "accumulating-state",
		.asks = "does something grow with uptime that a reboot resets?",
		.needs = FACT_MEMCG | FACT_HISTORY,
		.advice = "end the growth; a reboot only buys time",
		.doc = "accumulating-state",
		.judge = judge_accumulating_state,
	},
	{
		.id = "memcg-walk-cost",
		.asks = "does a process spend its time walking memory cgroups?",
		.needs = FACT_PROFILE,
		.or_else = FACT_READS,
		.advice = "purge the zombies that it walks",
		.doc = "memcg-walk-cost",
		.judge = judge_memcg_walk_cost,
	},
	{
		.id = "rt-hog",
		.asks = "does a real-time task keep a core from everybody else?",
		.needs = FACT_CORES | FACT_TASKS,
		.advice = "lower its priority or give it a core of its own",
		.doc = "rt-hog",
		.judge = judge_rt_hog,
	},
	{
		.id = "softirq-storm",
		.asks = "does a core drown in interrupts?",
		.needs = FACT_CORES,
		.advice = "spread the NIC's queues over more cores",
		.doc = "softirq-storm",
		.judge = judge_softirq_storm,
	},
	{
		.id = "steal",
		.asks = "does the hypervisor take time away?",
		.needs = FACT_CORES,
		.advice = "move the guest, or ask the provider",
		.doc = "steal",
		.judge = judge_steal,
	},
	{
		.id = "missing-ticks",
		.asks = "did a busy core's own clock stop?",
		.needs = FACT_PROFILE,
		.advice = "look for steal, for a paused guest, or for code that runs with "
			  "interrupts off",
		.doc = "missing-ticks",
		.judge = judge_missing_ticks,
	},
	{
		.id = "kubepods-weight",
		.asks = "do pods outweigh the system's own services so far that kernel threads "
			"starve?",
		.needs = FACT_WEIGHT,
		.advice = "raise the weight of system.slice",
		.doc = "kubepods-weight",
		.judge = judge_kubepods_weight,
	},
	{
		.id = "log-flood",
		.asks = "does a flood of kernel lines keep a core busy?",
		.needs = FACT_KMSG,
		.advice = "lower the console log level; find who writes",
		.doc = "log-flood",
		.judge = judge_log_flood,
	},
	{
		.id = "core-saturated",
		.asks = "is a single core full while the host's mean looks fine?",
		.needs = FACT_CORES,
		.advice = "look at its flame graph",
		.doc = "core-saturated",
		.judge = judge_core_saturated,
	},
	{
		.id = "queue-starved",
		.asks = "did a NIC queue's core have no time for its completions?",
		.needs = FACT_NET,
		.advice = "free that core, or move the queue's interrupt",
		.doc = "queue-starved",
		.judge = judge_queue_starved,
	},
	{
		.id = "net-driver-reset",
		.asks = "did a NIC driver reset itself?",
		.needs = FACT_KMSG,
		.advice = "look at what held the queue's core before the reset",
		.doc = "net-driver-reset",
		.judge = judge_net_driver_reset,
	},
	{
		.id = "reclaim-pressure",
		.asks = "do tasks wait for memory to be reclaimed?",
		.needs = FACT_RECLAIM,
		.advice = "find the cgroup at its limit",
		.doc = "reclaim-pressure",
		.judge = judge_reclaim_pressure,
	},
	{
		.id = "cpu-throttled",
		.asks = "does a CPU quota hold a cgroup back?",
		.needs = FACT_QUOTA,
		.advice = "raise or remove the quota",
		.doc = "cpu-throttled",
		.judge = judge_cpu_throttled,
	},
	{
		.id = "throttle-meets-reclaim",
		.asks = "do throttling and reclaim coincide?",
		.needs = FACT_QUOTA | FACT_RECLAIM,
		.advice = "mend each by itself: one does not cause the other",
		.doc = "throttle-meets-reclaim",
		.judge = judge_throttle_meets_reclaim,
	},
	{
		.id = "oom-kill",
		.asks = "did the kernel kill for lack of memory?",
		.needs = FACT_KMSG,
		.advice = "raise the limit, or find the leak",
		.doc = "oom-kill",
		.judge = judge_oom_kill,
	},
};

const struct rule *rules_all(size_t *ret_len)
{
	*ret_len = ARRAY_LEN(table);
	return table;
}

const struct rule *rules_find(const char *id)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (strcmp(table[i].id, id) == 0)
			return &table[i];
	return NULL;
}

void rules_judge(const struct facts *f, const struct thresholds *t, struct findings *all,
		 struct unknowns *unknown)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		uint32_t missing = table[i].needs & ~f->have;
		size_t before = all->list.len;
		if (missing) {
			unknowns_add(unknown, table[i].id, "needs %s, which could not be read here",
				     fact_source_name(missing & -missing));
			if (!table[i].or_else || table[i].or_else & ~f->have)
				continue;
		}
		table[i].judge(f, t, all);
		for (size_t k = before; k < all->list.len; k++)
			all->list.items[k].fix = table[i].advice;
	}
}

/* The incident that zombiescope was made for, as facts: 96 cores, 68,440 zombies, kubelet, eth0.
 * For tests of rules and chains. */
#pragma once

#include <math.h>

#include "facts.h"

#define SICK_NOW (UINT64_C(1700000000) * 1000000000)
#define SICK_S   UINT64_C(1000000000)

static inline struct facts sick_host(void)
{
	struct facts f = {
		.have = FACT_SOURCE_END - 1,
		.from_ns = SICK_NOW - 30 * SICK_S,
		.to_ns = SICK_NOW,
		.kernel_major = 5,
		.kernel_minor = 4,
		.possible_cpus = 96,
		.memory_v1 = true,
		.uptime_s = 9 * 86400,
		.tracked = 68680,
		.alive = 240,
		.dying = 68440,
		.zombies_per_hour = 360,
	};
	(void)vec_push(&f.units, (struct fact_unit){ .unit = "ecs.service",
						     .crash_loop = true,
						     .restarts = 68102,
						     .restarts_per_hour = 353,
						     .cadence_ns = 10 * SICK_S,
						     .first_seen_ns = SICK_NOW - 8 * 86400 * SICK_S,
						     .last_seen_ns = SICK_NOW,
						     .result = "exit code 5",
						     .fits = 0,
						     .why = "no ECS cluster is configured",
						     .leaks = "a container and its memory cgroup",
						     .action = "mask" });
	(void)vec_push(&f.units, (struct fact_unit){ .unit = "kubelet.service",
						     .active = true,
						     .fits = 1,
						     .is_protected = true });
	(void)vec_push(&f.containers, (struct fact_container){ .name = "ecs-agent",
							       .image = "amazon/amazon-ecs-agent",
							       .unit = "ecs.service",
							       .parent = "/docker",
							       .link_proof = "socket peer",
							       .creates_per_min = 6,
							       .creates = 256,
							       .exit_code = 1,
							       .from_ns = SICK_NOW - 2560 * SICK_S,
							       .to_ns = SICK_NOW });
	(void)vec_push(&f.owners, (struct fact_owner){ .owner = "docker containers under /docker",
						       .kind = "container",
						       .container = "ecs-agent",
						       .count = 68102 });
	(void)vec_push(&f.churn, (struct fact_churn){ .parent = "/docker",
						      .owner = "docker containers under /docker",
						      .creator = "runc",
						      .made_per_min = 30,
						      .removed_per_min = 30,
						      .left = 14,
						      .unit = "ecs.service",
						      .from_ns = SICK_NOW - 30 * SICK_S,
						      .to_ns = SICK_NOW });
	(void)vec_push(&f.walkers, (struct fact_walker){ .pid = 4711,
							 .comm = "kubelet",
							 .unit = "kubelet.service",
							 .function = "mem_cgroup_nr_lru_pages",
							 .cpu = 39,
							 .share = 91,
							 .samples = 600,
							 .from_ns = SICK_NOW - 9 * SICK_S,
							 .to_ns = SICK_NOW - 2 * SICK_S });
	f.walk_read_ns = 2 * SICK_S;
	f.walk_read_file = "memory.numa_stat";
	(void)vec_push(&f.readers,
		       (struct fact_reader){ .pid = 4711,
					     .comm = "kubelet",
					     .unit = "kubelet.service",
					     .file = "/sys/fs/cgroup/memory/memory.numa_stat",
					     .sys_percent = 99,
					     .looked = 20,
					     .seen = 19 });
	(void)vec_push(&f.cores, (struct fact_core){ .cpu = 39,
						     .from_ns = SICK_NOW - 9 * SICK_S,
						     .to_ns = SICK_NOW - 2 * SICK_S,
						     .sys = 100,
						     .host_busy = 20,
						     .pid = 4711,
						     .comm = "kubelet",
						     .unit = "kubelet.service",
						     .path = "mem_cgroup_nr_lru_pages",
						     .task_share = 99 });
	(void)vec_push(&f.resets, (struct fact_reset){ .iface = "eth0",
						       .driver = "ena",
						       .cause = "poll starvation",
						       .queue = 5,
						       .irq = 44,
						       .cpu = 39,
						       .from_ns = SICK_NOW - 8 * SICK_S,
						       .time_ns = SICK_NOW - 1 * SICK_S,
						       .trusted = true,
						       .starved = STARVED_CORE,
						       .evidence = "interrupt count flat" });
	return f;
}

/* Everything that the rules may look at, gathered from a live watch, a recording or a capture.
 * Plain data: the rules open no file, read no clock and keep no state, so that the same facts
 * always give the same verdict.
 *
 * A fact that could not be gathered is not zero: its bit in `have` is missing and the rule that
 * needs it stays silent. Strings are owned by whoever filled the facts and are hostile bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vec.h"

enum fact_source {
	FACT_CORES = 1 << 0,      /* per-core time, second by second */
	FACT_TASKS = 1 << 1,      /* who ran where */
	FACT_PROFILE = 1 << 2,    /* samples with stacks */
	FACT_MEMCG = 1 << 3,      /* tracked, live and dying memory cgroups */
	FACT_CENSUS = 1 << 4,     /* zombies by owner */
	FACT_CHURN = 1 << 5,      /* who makes cgroups, how often */
	FACT_UNITS = 1 << 6,      /* service units and their restarts */
	FACT_CONTAINERS = 1 << 7, /* containers and their create rate */
	FACT_KMSG = 1 << 8,       /* the kernel's log */
	FACT_NET = 1 << 9,        /* NIC queues, interrupts, affinity */
	FACT_RECLAIM = 1 << 10,   /* /proc/vmstat */
	FACT_PRESSURE = 1 << 11,  /* /proc/pressure */
	FACT_QUOTA = 1 << 12,     /* CPU quota of cgroups */
	FACT_WEIGHT = 1 << 13,    /* CPU weight of kubepods against system.slice */
	FACT_HISTORY = 1 << 14,   /* a recording long enough to tell growth */
	FACT_READS = 1 << 15,     /* what a read of memory.stat costs, and who reads it */
	FACT_SOURCE_END = 1 << 16,
};

/* One stretch in which a single core was saturated. */
struct fact_core {
	unsigned cpu;
	uint64_t from_ns, to_ns;
	double usr, sys, soft, irq, steal, iowait; /* mean percent over the stretch */
	double host_busy;                          /* mean busy percent of all cores meanwhile */
	uint64_t pid;                              /* who held it; 0 = not known */
	const char *comm, *unit, *cgroup,
		*path;     /* path: hottest kernel function; NULL = not known */
	double task_share; /* percent of the stretch that task ran on this core */
	bool realtime;     /* the task has a real-time policy */
};

/* A process whose time goes into walking memory cgroups. */
struct fact_walker {
	uint64_t pid;
	const char *comm, *unit, *function;
	unsigned cpu;     /* where it mostly ran */
	double share;     /* percent of its samples that lie in memcg iteration */
	uint64_t samples; /* of this process */
	uint64_t from_ns, to_ns;
};

/* A process that spends much of a core in the kernel. */
struct fact_reader {
	uint64_t pid;
	const char *comm, *unit;
	const char *file;      /* a memory.stat or memory.numa_stat it had open; NULL = none seen */
	double sys_percent;    /* of one core */
	unsigned looked, seen; /* times its open files were looked at, and one was among them */
};

struct fact_owner {
	const char *owner; /* "docker containers under /docker", "ecs.service" */
	const char *kind;  /* unit, container, pod ... */
	const char *unit, *container;
	uint64_t count, bytes;
};

struct fact_churn {
	const char *parent, *owner,
		*unit;       /* unit: the creator's own unit, or the unit that owns the cgroups */
	const char *creator; /* comm of who made them */
	double made_per_min, removed_per_min;
	uint64_t left; /* removed but not released within the window */
	uint64_t from_ns, to_ns;
};

struct fact_unit {
	const char *unit;
	bool crash_loop, active, failed, is_protected,
		expected; /* expected: loops by design, says the knowledge base */
	uint64_t restarts;
	double restarts_per_hour;
	uint64_t cadence_ns;    /* 0 = not known */
	uint64_t first_seen_ns; /* onset; 0 = not known */
	uint64_t last_seen_ns;
	const char *result; /* "exit code 5", "signal 11"; NULL = not known */
	int fits;           /* 1 yes, 0 no, -1 unknown */
	const char *why, *leaks, *action, *source;
};

struct fact_container {
	const char *name, *image, *unit,
		*parent;        /* unit: who creates it; parent: cgroup directory */
	const char *link_proof; /* how unit and container were linked; NULL = they were not */
	double creates_per_min;
	uint64_t creates;
	bool in_place; /* restarted by the engine's policy, not created anew */
	int exit_code; /* -1 = not known */
	uint64_t from_ns, to_ns;
};

enum fact_starved {
	STARVED_UNKNOWN,
	STARVED_CORE,
	STARVED_LOST_INTERRUPT,
	STARVED_DEVICE,
};

struct fact_reset {
	const char *iface, *driver, *cause, *event; /* event: key for --event */
	int queue, irq, cpu;                        /* -1 = not known */
	uint64_t from_ns, time_ns;                  /* the stall began, the reset happened */
	bool trusted, injected, loop;
	enum fact_starved starved;
	const char *evidence; /* of the starvation verdict */
};

struct fact_quota {
	const char *cgroup, *unit;
	double throttled_percent; /* of periods in the window */
	uint64_t throttled_ns;
	double reclaim_correlation; /* Pearson over seconds, with direct reclaim; NAN = not known */
};

struct fact_oom {
	const char *victim, *cgroup;
	uint64_t time_ns;
	bool trusted, memcg;
};

struct facts {
	uint32_t have; /* fact_source bits */
	uint64_t from_ns, to_ns;
	bool live;
	unsigned kernel_major, kernel_minor;
	unsigned possible_cpus;
	bool memory_v1;
	uint64_t uptime_s;

	uint64_t tracked, alive, dying, zombie_bytes;
	double zombies_per_hour;   /* FACT_HISTORY or FACT_CHURN */
	uint64_t uptime_at_zero_s; /* by the growth: when the count was nil, seconds before now; 0 =
				      not known */
	double percpu_bytes_per_zombie;
	uint64_t walk_read_ns; /* measured: one read of that file at the root; 0 = not measured */
	const char *walk_read_file;

	double kswapd_pages_per_s, direct_pages_per_s;
	double psi_memory_some, psi_memory_full, psi_cpu_some,
		psi_io_full;  /* percent of the window */
	double steal_percent; /* worst core */
	unsigned steal_cpu;
	double missing_ticks_percent; /* of a busy core's sampling ticks, over the seconds below */
	unsigned missing_ticks_cpu, missing_ticks_seconds;
	double soft_percent; /* worst core, softirq + irq */
	unsigned soft_cpu;
	bool soft_by_ksoftirqd;
	double kubepods_weight_ratio; /* kubepods / system.slice */
	double log_lines_per_s;
	bool log_injected; /* most of those lines bear the lab's mark */
	bool serial_console;
	bool rt_throttled; /* the kernel said so */

	VEC(struct fact_core) cores;
	VEC(struct fact_walker) walkers;
	VEC(struct fact_reader) readers;
	VEC(struct fact_owner) owners;
	VEC(struct fact_churn) churn;
	VEC(struct fact_unit) units;
	VEC(struct fact_container) containers;
	VEC(struct fact_reset) resets;
	VEC(struct fact_quota) quotas;
	VEC(struct fact_oom) ooms;
};

void facts_free(struct facts *f);
/* "the profile", "the census" ... of one fact_source bit, for the list of unknowns. */
const char *fact_source_name(uint32_t bit);

#define AUTO_FACTS __attribute__((cleanup(facts_free)))

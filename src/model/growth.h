/* How fast zombies grow, when that will hurt, and what they cost on this kernel. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "census_summary.h"
#include "reclaim_summary.h"

/* At this many the original incident's hosts stalled for seconds: what is left to go by where this
 * host's own cost per zombie could not be measured. */
enum { GROWTH_INCIDENT = 70000, GROWTH_MOST_POINTS = 200 };
/* Where it could: a read of statistics, or one pass of reclaim in a hundred, that takes this long
 * (1 s) stalls whoever waits for it; agents ask every few seconds. */
#define GROWTH_SLOW_NS UINT64_C(1000000000)
/* RAM that is lost to zombies hurts from this share of the host's on. */
enum { GROWTH_RAM_PERCENT = 10 };

enum growth_basis {
	GROWTH_BY_INCIDENT,
	GROWTH_BY_READS,   /* measured here: reads of memory.numa_stat */
	GROWTH_BY_RECLAIM, /* measured here: passes of reclaim among zombies */
	GROWTH_BY_NOTHING, /* no number of zombies is known to stall this kernel */
};

/* The number of zombies at which the CPU hurts. */
struct growth_onset {
	enum growth_basis basis;
	uint64_t zombies;       /* 0 = there is none */
	double ns_per_zombie;   /* where it was measured */
	uint64_t measured_over; /* with so many zombies, or so many more of them */
};

struct growth {
	bool known;            /* enough points over enough time */
	double rate_per_hour;  /* median slope: restarts and purges do not bend it */
	double doubling_hours; /* 0 = does not grow */
	struct growth_onset onset;
	uint64_t reaches_ns; /* wall clock at the onset, to_ns = it is reached; 0 = never */
	double reboot_days;  /* from none to the onset; 0 = there is none, or it does not grow */
	uint64_t ram_bytes_per_day;
	/* the other onset: 0 = not known, or never at this rate */
	uint64_t ram_bytes_now, ram_limit_bytes, ram_reaches_ns;
	uint64_t from_ns, to_ns; /* what it is computed from */
	size_t points;
};

/* points in time order; footprint_bytes = RAM per zombie, 0 = not known. */
void growth_compute(const struct census_point *points, size_t n, uint64_t footprint_bytes,
		    const struct growth_onset *onset, struct growth *ret);

/* When the RAM that zombies take reaches GROWTH_RAM_PERCENT of the host's; after growth_compute().
 * footprint_bytes and host_bytes: 0 = not known. */
void growth_ram(struct growth *g, uint64_t dying, uint64_t footprint_bytes, uint64_t host_bytes);

/* RAM per zombie as this host shows it: how per-core memory and slab went with the number of
 * zombies over the recording. */
struct footprint {
	bool known;                        /* the number changed enough to tell */
	uint64_t percpu_bytes, slab_bytes; /* per zombie */
	uint64_t change;                   /* zombies between the extremes it is computed from */
};

/* Points whose bytes are not known are passed over. */
void footprint_measure(const struct census_point *points, size_t n, struct footprint *ret);

struct zombie_verdict {
	const char *id; /* "stat-reads", "reclaim-and-ram", "references" */
	const char *text;
	uint64_t percpu_bytes; /* per zombie: expected for this kernel and number of cores */
	uint64_t slab_bytes;
};

/* What of the CPU's cost was measured on the host. */
struct growth_measured {
	uint64_t read_ns;        /* of the root's memory.numa_stat; 0 = not measured */
	uint64_t tracked, dying; /* at that time; 0 = not known */
	const struct reclaim_point *reclaim;
	size_t n_reclaim;
};

/* By what hurts on this kernel; verdict NULL = the kernel is not known. */
void growth_onset_of(const struct zombie_verdict *verdict, const struct growth_measured *measured,
		     struct growth_onset *ret);

/* All of the above: the footprint as measured, where it cannot be as expected of the kernel, the
 * rate, and both onsets. */
void growth_judge(const struct census_point *points, size_t n, const struct zombie_verdict *verdict,
		  const struct growth_measured *measured, uint64_t host_bytes,
		  struct footprint *ret_footprint, struct growth *ret);

/* kernel: release text ("5.4.0-1146-aws"); v1: the memory controller is on cgroup v1. -1 = the
 * release is not understood. */
int zombie_verdict_of(const char *kernel, bool v1, unsigned possible_cpus,
		      struct zombie_verdict *ret);
/* The same for a census of a recording; -1 also when it does not tell which cgroup version counted.
 */
int zombie_verdict_recorded(const struct census_summary *census, const char *kernel,
			    unsigned possible_cpus, struct zombie_verdict *ret);

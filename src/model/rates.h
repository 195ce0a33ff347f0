/* Rates from a pair of ticks: percentages of each core exactly as mpstat defines them, and the
 * other counters per second. Counter resets, missed ticks, suspended time, clock steps and hotplug
 * give no absurd numbers: never above 100 %, never negative, and what cannot be told is absent. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rec_pressure.h"
#include "tick.h"
#include "vec.h"

/* Percent. usr and nice leave guests out, as mpstat does; all ten add up to 100. */
struct rate_cpu {
	uint64_t cpu;
	double usr, nice, sys, iowait, irq, soft, steal, guest, gnice, idle;
};

enum rate_known {
	RATE_RECLAIM = 1 << 0,
	RATE_OOM = 1 << 1,
	RATE_FAULTS = 1 << 2,
	RATE_SOFTNET = 1 << 3,
	RATE_FORKS = 1 << 4,
	RATE_CTXT = 1 << 5,
	RATE_CORES = 1 << 6,
};

struct rate_quota {
	const char *cgroup;       /* owned by the later tick */
	double throttled_percent; /* of the periods in which it ran */
	uint64_t throttled_us;
};

/* A core that has a line in the later tick and no rates nevertheless. */
enum rate_missing {
	RATE_MISSING_UNREADABLE, /* its line lacks numbers, in one of the two */
	RATE_MISSING_CAME,       /* it was not there before: known from the next tick on */
	RATE_MISSING_RESET,      /* its counters fell: it was away in between */
	RATE_MISSING_END,
};

struct rate_unknown {
	uint64_t cpu;
	enum rate_missing why;
};

struct rate_pressure {
	bool some_known, full_known;
	double some, full; /* percent of the interval */
};

struct rates {
	uint64_t from_ns, to_ns; /* wall clock of the two ticks */
	uint64_t interval_ns;    /* time in which the machine ran: monotonic, suspension left out */
	uint64_t suspended_ns;
	int64_t step_ns; /* by how much the wall clock was set meanwhile */
	/* ticks are missing between the two; said by who knows how far apart they should be */
	bool gap;

	unsigned known; /* of rate_known */
	struct rate_cpu all;
	VEC(struct rate_cpu) cpus;
	/* cores that had a row in the earlier tick, or in one that was given to this struct before,
	 * and have none now */
	VEC(uint64_t) offline;
	VEC(struct rate_unknown) unknown;
	double direct_pages, kswapd_pages, allocstalls; /* per second */
	double major_faults;                            /* per second */
	uint64_t oom_kills;                             /* in the interval */
	double softnet_dropped, softnet_squeezed;       /* per second, all cores */
	double forks, context_switches;                 /* per second */
	struct rate_pressure pressure[PRESSURE_END];
	VEC(struct rate_quota) quotas;
};

/* -ENODATA: the two cannot be compared (another boot, no time between them). *ret may be filled
 * before; its memory is used again. */
int rates_compute(const struct tick *before, const struct tick *after, struct rates *ret);
void rates_free(struct rates *r);

/* Not idle: neither waiting for work nor for a disk. Stolen time counts: the core was not ours. */
double rate_cpu_busy(const struct rate_cpu *c);
double rate_cpu_kernel(const struct rate_cpu *c); /* sys + irq + soft */
const char *rate_missing_why(enum rate_missing why);

/* A core at or above this is saturated; a machine below that mean hides it. */
#define RATE_SATURATED_PERCENT 95.0
#define RATE_HIDDEN_PERCENT    50.0

#define AUTO_RATES __attribute__((cleanup(rates_free)))

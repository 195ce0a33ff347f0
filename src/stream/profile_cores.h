/* What the profiler knows of each core it samples, and what /proc/stat says that the core did since
 * the last look: a busy core that gives no samples is either in trouble, or its event is dead. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tick.h"
#include "vec.h"

struct profile_core {
	uint32_t cpu;
	uint64_t lost, records;                 /* the sampler's counts so far */
	uint64_t idle_ticks, ran_ticks, stolen; /* of /proc/stat at the last reading */
	bool has_stat;
	uint64_t told_s; /* second of the last missing-ticks event */
};

struct profile_cores {
	VEC(struct profile_core) list;
};

/* Made when absent; NULL when out of memory. */
struct profile_core *profile_cores_of(struct profile_cores *c, uint32_t cpu);
void profile_cores_free(struct profile_cores *c);

struct profile_core_use {
	bool offline;      /* others are in /proc/stat, it is not */
	double idle_share; /* of the time since the last reading; negative = unknown */
	double ran_s;      /* time in which it ran something; 0 also when unknown */
};

/* Since the last call for this core. stat: a tick with the rows of /proc/stat. */
struct profile_core_use profile_core_use(struct profile_core *core, const struct tick *stat);

/* Has it run for so much longer than its samples tell that its event may have ended? A core that
 * takes no interrupts does not come here: its row in /proc/stat stands still as well. */
bool profile_core_is_doubtful(const struct profile_core_use *use, uint64_t records, double hz);

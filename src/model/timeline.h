/* The recording at a glance: one small row a second (host busy, hottest core, cgroups, pressure,
 * reclaim) and one byte per core, second and mode. Fed with ticks in time order, asked for any
 * window at any width. Bounded: the oldest hour goes when it is full. Pure memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tick.h"
#include "vec.h"

enum timeline_mode {
	TIMELINE_BUSY,  /* all but idle and iowait */
	TIMELINE_SYS,   /* in the kernel */
	TIMELINE_SOFT,  /* interrupts, hard and soft */
	TIMELINE_STEAL, /* taken by the hypervisor */
	TIMELINE_MODES,
};

/* Values of a second that can be charted. */
enum timeline_series {
	TIMELINE_HOST_BUSY,   /* percent of all cores */
	TIMELINE_HOTTEST,     /* percent of the busiest core */
	TIMELINE_HOTTEST_CPU, /* its number */
	TIMELINE_TRACKED,     /* memory cgroups that the kernel tracks */
	TIMELINE_LIVE,
	TIMELINE_DYING,
	TIMELINE_PSI_CPU, /* some avg10, percent */
	TIMELINE_PSI_MEMORY,
	TIMELINE_PSI_IO,
	TIMELINE_SCAN_DIRECT, /* pages a second */
	TIMELINE_SCAN_KSWAPD,
	TIMELINE_SERIES_END,
};

#define TIMELINE_UNKNOWN 255u /* a core's byte: not recorded */

enum {
	TIMELINE_MAX_CPUS = 4096,
	TIMELINE_MAX_BYTES = 64 << 20,
};

struct timeline_second {
	float values[TIMELINE_SERIES_END]; /* NaN = unknown */
};

struct timeline_prev {
	uint64_t busy, sys, soft, steal, total;
	bool known;
};

struct timeline {
	uint64_t first_s; /* wall-clock second of row 0 */
	size_t seconds, cap;
	struct timeline_second *rows;
	uint8_t *cores; /* [second][mode][cpu] */
	size_t cpus;    /* columns; grows when a core comes up */
	/* the reading before, for rates */
	struct timeline_prev *prev;
	uint64_t prev_real_ns, prev_mono_ns, prev_direct, prev_kswapd;
	bool prev_reclaim;
};

/* Out of memory leaves the timeline as it was and returns -ENOMEM. */
int timeline_feed(struct timeline *tl, const struct tick *t);
void timeline_free(struct timeline *tl);
const char *timeline_series_name(enum timeline_series s);
const char *timeline_mode_name(enum timeline_mode m);

/* Values of n equal steps of [from, from + n * step): the highest second of each, NaN = unknown. */
void timeline_series_read(const struct timeline *tl, enum timeline_series s, uint64_t from_s,
			  uint64_t step_s, size_t n, double *ret);
/* One core, likewise; TIMELINE_UNKNOWN where nothing was recorded. */
void timeline_core_read(const struct timeline *tl, enum timeline_mode m, size_t cpu,
			uint64_t from_s, uint64_t step_s, size_t n, uint8_t *ret);

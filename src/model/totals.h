/* Counters for Prometheus, integrated second by second from what the recorder writes: a gauge
 * scraped every 15 s would miss a core that is saturated for 5 s. Everything is bounded, and series
 * that may matter exist from the start with 0, because a counter born at 1 never alerts.
 *
 * The recorder writes a snapshot at the start of each segment (FRAME_TOTALS). A reader takes the
 * first snapshot it meets and feeds everything behind it, so that counters neither restart with
 * the reader nor fall when old segments are dropped. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "rec_event.h"
#include "tick.h"
#include "vec.h"

enum totals_mode {
	TOTALS_USER,
	TOTALS_SYSTEM,
	TOTALS_INTERRUPT,
	TOTALS_MODES,
};

enum {
	TOTALS_SATURATED_PERCENT = 95, /* busy in that second */
	TOTALS_MOST_CPUS = 4096,
	TOTALS_MOST_NICS = 16,
	TOTALS_MOST_UNITS = 64, /* the rest is counted as "other" */
	TOTALS_REASONS = 14,
	TOTALS_VERSION = 1,
};

struct totals_core {
	uint64_t saturated_ns[TOTALS_MODES];
	uint64_t user, kernel, interrupt, total; /* the reading before, in ticks */
	bool known;
};

struct totals_nic {
	char iface[16];
	uint64_t resets[TOTALS_REASONS];
};

struct totals_unit {
	char unit[128];
	uint64_t restarts;
};

struct totals {
	struct totals_core *cores;
	size_t n_cores;
	struct totals_nic nics[TOTALS_MOST_NICS];
	size_t n_nics;
	struct totals_unit units[TOTALS_MOST_UNITS]; /* the last is "other" once it is full */
	size_t n_units;
	uint64_t events[EVENT_SOURCE_END][3]; /* by severity */
	uint64_t containers;                  /* starts of containers */
	uint64_t kmsg_gaps, lost_samples, purges, purged;
	uint64_t made, removed; /* memory cgroups */
	bool have_churn;
	uint64_t prev_mono_ns;
	bool fed; /* a snapshot comes too late now */
};

void totals_feed_tick(struct totals *t, const struct tick *tick);
struct churn_summary;
void totals_feed_churn(struct totals *t, const struct churn_summary *churn);
void totals_feed_event(struct totals *t, const struct rec_event *event);
void totals_free(struct totals *t);
const char *totals_reason(size_t i); /* "netdev-watchdog" ..., the last is "other" */
const char *totals_mode_name(enum totals_mode m);

/* The snapshot's bytes, and back: replaces everything but the readings before. -EBADMSG. */
void totals_encode(const struct totals *t, struct buf *out);
int totals_decode(struct totals *t, const void *bytes, size_t len);

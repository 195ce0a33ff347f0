/* What live and recorded `cores` share: pairs of ticks in, seconds or hot spans out. */
#pragma once

#include "command.h"
#include "envelope.h"
#include "hot.h"
#include "rates.h"
#include "unknowns.h"

struct cores_run {
	struct invocation *in;
	struct envelope envelope;
	struct rates rates;
	struct hot hot;
	struct unknowns unknown;
	uint64_t samples;
	uint64_t first_ns, last_ns; /* what the samples cover */
	size_t cores;               /* the most that were seen at once */
	bool hot_only, found;       /* found: a span was shown */
	bool redraw;                /* each second in place of the one before */
};

void cores_run_free(struct cores_run *c);
/* Set by a signal: end soon. */
bool cores_stopped(void);
/* One pair of ticks; gap: some are missing between them. 1 = shown, 0 = the two could not be
 * compared. */
int cores_feed(struct cores_run *c, const struct tick *before, const struct tick *after, bool gap,
	       struct err *err);
/* What follows cannot be compared with what came before: hot spans end there. */
int cores_break(struct cores_run *c, struct err *err);
/* The window of a recording: `count` rows (0 = all), each of interval_ns (0 = as recorded). */
int cores_recorded(struct cores_run *c, uint64_t count, uint64_t interval_ns, struct err *err);

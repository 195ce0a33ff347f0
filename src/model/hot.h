/* Spans in which one core was saturated while the mean of the machine looked healthy: what an
 * aggregate hides. Fed with rates second by second. */
#pragma once

#include "rates.h"

struct hot_span {
	uint64_t cpu;
	uint64_t from_ns, to_ns;
	/* Means over the span, percent. */
	double busy, usr, sys, soft, host_busy;
	unsigned samples;
};

struct hot {
	VEC(struct hot_span) open; /* one per core that is hot now */
	VEC(struct hot_span) done; /* in the order in which they ended */
};

int hot_feed(struct hot *h, const struct rates *r);
/* The recording ends or has a gap: close what is open. */
int hot_end(struct hot *h);
void hot_free(struct hot *h);

#define AUTO_HOT __attribute__((cleanup(hot_free)))

/* Two windows compared: per node and per function how much of the time each took, what grew, and
 * what vanished ("elided": in the base, not in the window at all). Shares, not counts, are
 * compared: the base is scaled to the window's number of samples. Pure. */
#pragma once

#include "flame.h"

struct diff_function {
	uint32_t name, module; /* strings of the window's profile */
	uint8_t kind;
	uint64_t self, base_self; /* samples as they are, not scaled */
	double share, base_share; /* percent of all self samples */
};

struct diff {
	struct flame flame;  /* the window's tree; base_* hold the base's, scaled */
	struct flame elided; /* nodes of the base that the window does not have; total = base's */
	VEC(struct diff_function) growth; /* grown most first */
	uint64_t weight, base_weight;
};

/* Both profiles stay the caller's; base's names are added to the window's strings. */
int diff_build(struct profile *window, struct profile *base, struct diff *ret);
void diff_free(struct diff *d);

#define AUTO_DIFF __attribute__((cleanup(diff_free)))

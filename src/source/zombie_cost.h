/* What zombies cost, measured here: how long the kernel takes to answer at the root of the
 * hierarchy. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "offer.h"
#include "root.h"

struct zombie_cost {
	bool have_stat, have_numa_stat;
	uint64_t stat_ns, numa_stat_ns; /* best of a few reads */
};

void zombie_cost_read(const struct root *root, const struct offer *offer, struct zombie_cost *ret);

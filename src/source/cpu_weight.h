/* How the scheduler weighs pods against system services: kubelet gives kubepods a weight that grows
 * with the number of cores, while everything at the top (system.slice, kernel threads' peers) keeps
 * 100. The ratio says how little is left for the rest. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "root.h"

struct cpu_weight {
	uint64_t pods, rest; /* cpu.weight, or cpu.shares */
	double ratio;
	char pods_path[100], rest_path[100]; /* the files that say so */
};

/* False when there are no pods here, or no weights. */
bool cpu_weight_read(const struct root *root, struct cpu_weight *ret);

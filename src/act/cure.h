/* The purge as the last step of a fix: again and again while zombies still fall, then an honest
 * look at what is left and what would free it. Changes nothing that a killed run leaves half done:
 * it only drops cache. */
#pragma once

#include "purge.h"

struct cure_purge {
	const char *below; /* NULL = the whole host */
	/* Results */
	uint64_t before, after; /* zombies */
	uint64_t bytes_before, bytes_after;
	unsigned passes;
	uint64_t wall_ns;
	/* What is left, by what keeps it (purge_plan.stuck), and what was about to go when the time
	 * was over. */
	struct purge_plan left;
};

int cure_purge(const struct root *root, const struct offer *offer, struct cure_purge *c,
	       struct unknowns *unknowns, struct err *err);

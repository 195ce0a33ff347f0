/* Heat maps of a recording: seconds by parts of a second (FlameScope's), and cores by seconds.
 * Pure.
 */
#pragma once

#include <stdint.h>

#include "profile.h"
#include "profile_footer.h"

struct heat {
	uint64_t start_s;
	size_t seconds;
	unsigned rows;    /* parts of a second, PROFILE_HEAT_ROWS */
	uint32_t *counts; /* [second][row]: samples of all cores, or of the filtered ones */
	uint32_t most;    /* of one cell */
	/* cores by seconds */
	size_t n_cores;
	uint32_t *core_ids;
	uint8_t *core_busy;   /* [core][second] percent by samples; HEAT_UNKNOWN = not recorded */
	uint32_t *core_holes; /* [core][second] lost + missing ticks */
	uint64_t samples, lost, missing;
};

#define HEAT_UNKNOWN 255u

enum { HEAT_MAX_SECONDS = 7 * 86400 };

/* [from, to) in whole seconds. -ENOMEM, -ERANGE over HEAT_MAX_SECONDS. */
int heat_build(const struct profile_footer *f, uint64_t from_s, uint64_t to_s, struct heat *ret);
/* The same from samples: for filters, which footers cannot answer. Cores from the accounts. */
int heat_build_samples(const struct profile *p, uint64_t from_s, uint64_t to_s, struct heat *ret);
void heat_free(struct heat *h);

#define AUTO_HEAT __attribute__((cleanup(heat_free)))

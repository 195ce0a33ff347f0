/* The censuses of a recording: how many zombies there were, when. */
#pragma once

#include <stdint.h>

#include "err.h"
#include "vec.h"

struct census_history_point {
	uint64_t time_ns, dying, max_serial;
};

struct census_history {
	VEC(struct census_history_point) list; /* in time order */
};

/* Of the last `span_ns` before `to_ns`. */
int census_history_read(const char *store_dir, uint64_t to_ns, uint64_t span_ns,
			struct census_history *ret, struct err *err);
void census_history_free(struct census_history *h);

/* What `validate` compares: one value a second per metric, over a window of a recording. */
#pragma once

#include "compare.h"
#include "err.h"
#include "stream.h"
#include "vec.h"

enum series_id {
	SERIES_RESTARTS,  /* unit restarts */
	SERIES_CREATES,   /* containers created */
	SERIES_ZOMBIES,   /* dying memory cgroups */
	SERIES_GROWTH,    /* more of them than the second before */
	SERIES_SATURATED, /* cores at or above 95 %, half of it in the kernel */
	SERIES_THROTTLED, /* percent of periods, worst cgroup */
	SERIES_RECLAIM,   /* pages scanned directly */
	SERIES_MEMORY,    /* percent of the second in which a task waited for memory */
	SERIES_RESETS,    /* NIC driver resets */
	SERIES_END,
};

struct series {
	VEC(double) values[SERIES_END];
};

int series_read(struct stream *stream, uint64_t from_ns, uint64_t to_ns, struct series *ret,
		struct err *err);
void series_free(struct series *s);
/* Names, units and thresholds of all metrics, with the values of both sides, compared. */
void series_compare(const struct series *before, const struct series *after,
		    struct metric ret[SERIES_END]);

#define AUTO_SERIES __attribute__((cleanup(series_free)))

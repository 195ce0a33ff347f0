/* Pressure stall information, from /proc/pressure/RESOURCE. One row per resource. */
#pragma once

#include "rec.h"

struct rec_pressure {
	uint64_t have;
	uint64_t resource;
	uint64_t some_avg10;
	uint64_t some_avg60;
	uint64_t some_avg300;
	uint64_t some_total;
	uint64_t full_avg10;
	uint64_t full_avg60;
	uint64_t full_avg300;
	uint64_t full_total;
};

enum {
	REC_PRESSURE_RESOURCE = 1 << 0,
	REC_PRESSURE_SOME_AVG10 = 1 << 1,
	REC_PRESSURE_SOME_AVG60 = 1 << 2,
	REC_PRESSURE_SOME_AVG300 = 1 << 3,
	REC_PRESSURE_SOME_TOTAL = 1 << 4,
	REC_PRESSURE_FULL_AVG10 = 1 << 5,
	REC_PRESSURE_FULL_AVG60 = 1 << 6,
	REC_PRESSURE_FULL_AVG300 = 1 << 7,
	REC_PRESSURE_FULL_TOTAL = 1 << 8,
};

/* Numbers are stored on disk. */
enum pressure_resource {
	PRESSURE_CPU,
	PRESSURE_MEMORY,
	PRESSURE_IO,
	PRESSURE_IRQ,
	PRESSURE_END,
};

extern const struct rec_desc rec_pressure_desc;

/* The machine as a whole: /proc/loadavg and the lower lines of /proc/stat. One row. */
#pragma once

#include "rec.h"

struct rec_load {
	uint64_t have;
	uint64_t load1_x100;
	uint64_t load5_x100;
	uint64_t load15_x100;
	uint64_t runnable;
	uint64_t tasks;
	uint64_t blocked;
	uint64_t ctxt;
	uint64_t forks;
	uint64_t intr;
	uint64_t btime_s;
};

enum {
	REC_LOAD_LOAD1_X100 = 1 << 0,
	REC_LOAD_LOAD5_X100 = 1 << 1,
	REC_LOAD_LOAD15_X100 = 1 << 2,
	REC_LOAD_RUNNABLE = 1 << 3,
	REC_LOAD_TASKS = 1 << 4,
	REC_LOAD_BLOCKED = 1 << 5,
	REC_LOAD_CTXT = 1 << 6,
	REC_LOAD_FORKS = 1 << 7,
	REC_LOAD_INTR = 1 << 8,
	REC_LOAD_BTIME_S = 1 << 9,
};

extern const struct rec_desc rec_load_desc;

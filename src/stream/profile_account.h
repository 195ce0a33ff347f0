/* Ticks per core and second: expected, received, lost, idle. A tick that never came is evidence. */
#pragma once

#include <stdint.h>

#include "map.h"
#include "profile.h"
#include "vec.h"

struct profile_account_row {
	uint64_t second;
	uint32_t cpu;
	double expected, idle; /* parts of a second add up */
	bool idle_known;
	uint32_t received, received_idle, lost;
};

struct profile_account {
	VEC(struct profile_account_row) rows; /* of seconds that are not written yet */
	struct map_u64 index;                 /* second and cpu → row */
};

void profile_account_sample(struct profile_account *a, uint64_t time_ns, uint32_t cpu, bool idle);
/* The core was sampled during [from, to) of the wall clock with hz; idle_share < 0 = unknown. */
void profile_account_span(struct profile_account *a, uint32_t cpu, uint64_t from_ns, uint64_t to_ns,
			  double hz, double idle_share);
void profile_account_lost(struct profile_account *a, uint64_t time_ns, uint32_t cpu, uint64_t lost);
/* Rows of the second, appended to *ret (by cpu) and forgotten here. */
struct profile_rows {
	VEC(struct profile_cpu_second) list;
};
void profile_account_take(struct profile_account *a, uint64_t second, struct profile_rows *ret);
/* The earliest second with rows; UINT64_MAX = none. */
uint64_t profile_account_first(const struct profile_account *a);
void profile_account_free(struct profile_account *a);

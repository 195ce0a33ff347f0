/* The busiest processes since the last tick, their busiest threads, and every ksoftirqd.
 *
 * Reading /proc/PID/stat of every process costs 4-9 us each, so that is done for the few busiest
 * only. Who they are is told by the processes' CPU clocks (0.4 us each), and new processes are
 * found by asking for the pids given out since the last tick instead of listing /proc. */
#pragma once

#include "map.h"
#include "offer.h"
#include "tick.h"
#include "unknowns.h"
#include "vec.h"

struct tasks_known {
	uint64_t pid;
	uint64_t cpu_ns; /* at the last tick */
	uint64_t recent_ns;
	bool first; /* nothing to compare with yet */
	bool ksoftirqd;
	bool asked; /* whether it is a ksoftirqd */
};

struct tasks_slot;

struct tasks {
	VEC(struct tasks_known) known;  /* by pid */
	VEC(struct tasks_slot *) slots; /* kept files of the processes that were shown lately */
	struct map_u64 threads;         /* tid -> ticks of CPU time at the last look */
	struct reread loadavg;
	uint64_t last_pid;
	uint64_t n_reads;
	unsigned top; /* how many of the busiest */
	bool opened;
};

enum { TASKS_TOP = 20 };

void tasks_open(struct tasks *t, const struct root *root, unsigned top);
/* quick: only every ksoftirqd and the busiest, no threads. */
void tasks_read(struct tasks *t, const struct root *root, const struct offer *offer, bool quick,
		struct buf *text, struct tick *ret, struct unknowns *unknowns);
void tasks_close(struct tasks *t);

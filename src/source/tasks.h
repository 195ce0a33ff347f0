/* The busiest processes since the last tick, their busiest threads, and every ksoftirqd.
 *
 * By the BPF task iterator where it can be loaded. Else by /proc:
 * Reading /proc/PID/stat of every process costs 4-9 us each, so that is done for the few busiest
 * only. Who they are is told by the processes' CPU clocks (0.4 us each), and new processes are
 * found by asking for the pids given out since the last tick instead of listing /proc. */
#pragma once

#include "map.h"
#include "offer.h"
#include "task_iter.h"
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
struct rec_task;

struct tasks {
	VEC(struct tasks_known) known;  /* by pid */
	VEC(struct tasks_slot *) slots; /* kept files of the processes that were shown lately */
	struct map_u64 threads;         /* tid -> ticks of CPU time at the last look */
	struct reread loadavg;
	uint64_t last_pid;
	uint64_t n_reads;
	/* The BPF way, where it can be loaded: records of this and of the last tick. */
	struct task_iter *iter;
	struct buf iter_now, iter_before;
	VEC(uint64_t) recent;
	unsigned top; /* how many of the busiest */
	bool opened;
};

enum { TASKS_TOP = 20 };

/* bpf: use the task iterator where it can be loaded. */
void tasks_open(struct tasks *t, const struct root *root, unsigned top, bool bpf);
/* quick: only every ksoftirqd and the busiest, no threads. */
void tasks_read(struct tasks *t, const struct root *root, const struct offer *offer, bool quick,
		struct buf *text, struct tick *ret, struct unknowns *unknowns);
void tasks_close(struct tasks *t);
/* The cgroup of a process, remembered for a while; NULL = cannot be read. */
const char *tasks_cgroup_of(struct tasks *t, const struct root *root, const struct offer *offer,
			    uint64_t pid, struct buf *text);

/* CPU time since the last tick below which a process is not worth a row: 0.2 % of a core. */
#define TASKS_LEAST_NS UINT64_C(2000000)
enum { TASKS_MOST_TOP = 100, TASKS_TOP_THREADS = 4 };

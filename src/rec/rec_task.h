/* One task: the busiest ones by CPU time since the last tick, and every ksoftirqd. */
#pragma once

#include "rec.h"

struct rec_task {
	uint64_t have;
	uint64_t pid;
	uint64_t start;
	uint64_t ppid;
	uint64_t cpu;
	uint64_t state;
	uint64_t utime;
	uint64_t stime;
	uint64_t run_delay;
	uint64_t threads;
	uint64_t rss;
	uint64_t kernel_thread;
	const char *comm;
	const char *cgroup;
	uint64_t tgid;
	uint64_t recent;
	uint64_t policy;
};

enum {
	REC_TASK_PID = 1 << 0,
	REC_TASK_START = 1 << 1,
	REC_TASK_PPID = 1 << 2,
	REC_TASK_CPU = 1 << 3,
	REC_TASK_STATE = 1 << 4,
	REC_TASK_UTIME = 1 << 5,
	REC_TASK_STIME = 1 << 6,
	REC_TASK_RUN_DELAY = 1 << 7,
	REC_TASK_THREADS = 1 << 8,
	REC_TASK_RSS = 1 << 9,
	REC_TASK_KERNEL_THREAD = 1 << 10,
	REC_TASK_COMM = 1 << 11,
	REC_TASK_CGROUP = 1 << 12,
	REC_TASK_TGID = 1 << 13,
	REC_TASK_RECENT = 1 << 14,
	REC_TASK_POLICY = 1 << 15,
};

extern const struct rec_desc rec_task_desc;

/* Stretches in which a core was saturated, and the tasks that ran on it, from rates and ticks
 * second by second. */
#pragma once

#include "rates.h"
#include "tick.h"

enum { COLLECT_SPAN_TASKS = 16 };

struct collect_holder {
	uint64_t pid; /* of the process */
	uint64_t ran_ns;
	uint64_t realtime_ns; /* of it, under SCHED_FIFO, SCHED_RR or SCHED_DEADLINE */
	char comm[64], cgroup[512];
};

struct collect_span {
	unsigned cpu;
	uint64_t from_ns, to_ns;
	double usr, sys, soft, irq, steal, host_busy; /* sums; divide by n */
	unsigned n;
	unsigned below; /* seconds in a row under the limit: one is forgiven */
	struct collect_holder tasks[COLLECT_SPAN_TASKS]; /* pid 0 = free */
};

struct collect_spans {
	VEC(struct collect_span) open, done;
	bool tasks_known;
};

int collect_spans_feed(struct collect_spans *s, const struct rates *r);
/* Right after feed, with the later of the two ticks: who ran where. */
void collect_spans_tasks(struct collect_spans *s, const struct tick *t);
/* A gap or the end: close what is open. */
int collect_spans_end(struct collect_spans *s);
void collect_spans_free(struct collect_spans *s);
/* The task that ran longest; NULL when none was seen. */
const struct collect_holder *collect_span_holder(const struct collect_span *span);

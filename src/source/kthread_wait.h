/* Kernel threads that did not get a core: how long each waited to run, from /proc/PID/schedstat.
 * Those that network service depends on (ksoftirqd, RCU, threaded NAPI, migration) are read every
 * time, the others in turn; a wait longer than the limit is told when the thread has run at last,
 * which is when the kernel counts it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "root.h"
#include "vec.h"

struct kthread {
	uint64_t pid;
	char comm[32];
	struct reread file; /* open for those that matter, else opened for each reading */
	char path[40];
	bool matters;
	bool known; /* there is a reading before */
	bool seen;  /* by the present search */
	uint64_t run_ns, wait_ns, slices;
	uint64_t starved_ns; /* its last wait, at least */
	bool told;           /* the present starvation was reported */
};

struct kthread_wait {
	const struct root *root;
	VEC(struct kthread *) list;
	unsigned turn;
};

enum {
	KTHREAD_MOST = 4096,
	KTHREAD_MOST_OPEN = 512, /* descriptors; the rest of those that matter waits its turn too */
	KTHREAD_TURNS = 4,       /* readings until all others were read */
};

struct kthread_stat {
	uint64_t run_ns, wait_ns, slices;
};

/* "123 456 7": nanoseconds run, nanoseconds waited, times it was put on a core. Pure. */
int kthread_parse(const char *text, struct kthread_stat *ret);
bool kthread_matters(const char *comm);
int kthread_wait_open(struct kthread_wait *k, const struct root *root, struct err *err);
/* Threads come and go: look again, what is known stays. */
int kthread_wait_search(struct kthread_wait *k, struct err *err);
/* Calls back once per starvation, when a thread has waited `least_ns` without running. */
void kthread_wait_read(struct kthread_wait *k, struct buf *text, uint64_t least_ns,
		       void (*each)(void *arg, const struct kthread *thread), void *arg);
void kthread_wait_close(struct kthread_wait *k);

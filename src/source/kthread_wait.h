/* Kernel threads that network service depends on (ksoftirqd, RCU, threaded NAPI): how long each
 * waited to run, from /proc/PID/schedstat. One that waits a whole second and more without running
 * is starved. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "root.h"
#include "vec.h"

struct kthread {
	uint64_t pid;
	char comm[32];
	struct reread file;
	char path[40];
	bool known; /* there is a reading before */
	uint64_t run_ns, wait_ns;
	uint64_t starved_ns; /* waited since it last ran */
	bool told;           /* the present starvation was reported */
};

struct kthread_wait {
	VEC(struct kthread *) list;
};

enum { KTHREAD_MOST = 2048 };

/* "123 456 7": nanoseconds run, nanoseconds waited. Pure. */
int kthread_parse(const char *text, uint64_t *ret_run_ns, uint64_t *ret_wait_ns);
bool kthread_matters(const char *comm);
int kthread_wait_open(struct kthread_wait *k, const struct root *root, struct err *err);
/* Calls back once per starvation, when a thread has waited `least_ns` without running. */
void kthread_wait_read(struct kthread_wait *k, struct buf *text, uint64_t least_ns,
		       void (*each)(void *arg, const struct kthread *thread), void *arg);
void kthread_wait_close(struct kthread_wait *k);

/* Queue → interrupt → core → task: who kept a network queue from being served.
 *
 * Over the stall of a reset: (a) did the queue's interrupt count stand still, (b) did NET_RX of its
 * core stand still, (c) did that core's ksoftirqd wait to run, (d) was the core busy in the kernel,
 * (e) which task held it. (b) moving while (a) stands still is a lost interrupt; everything moving
 * is the device. The CPU that NETDEV WATCHDOG prints is never looked at: that is where the
 * watchdog's timer ran. Pure: works on ticks from a recording, a bundle or the live host. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "json.h"
#include "rec_event.h"
#include "tick.h"

enum queue_verdict {
	QUEUE_CANNOT_TELL,
	QUEUE_STARVED_CORE,
	QUEUE_LOST_INTERRUPT,
	QUEUE_DEVICE_FAULT,
};

enum { QUEUE_PROOF_EVIDENCE = 12, QUEUE_PROOF_TASKS = 3 };

struct queue_evidence {
	const char *what; /* a constant */
	char value[120];
	char source[120]; /* file, field or command that shows it */
};

struct queue_task {
	uint64_t pid;
	char comm[64];
	char cgroup[200];
	double percent; /* of the core, over the stall */
};

struct queue_proof {
	enum queue_verdict verdict;
	bool have_irq, have_cpu;
	uint64_t irq, cpu;
	uint64_t from_ns, to_ns; /* the stall */
	bool window_reported;    /* the driver told its length; else the watchdog's 5 s */
	double usr, sys, soft, idle, steal;
	bool have_busy;
	struct queue_task tasks[QUEUE_PROOF_TASKS]; /* busiest on that core first */
	size_t n_tasks;
	char kernel_path[600]; /* "a;b;c": where the samples of that core were, "" = no profile */
	struct queue_evidence evidence[QUEUE_PROOF_EVIDENCE];
	size_t n_evidence;
	char why[200]; /* of the verdict, in words */
};

/* The stall of a reset event: [start, end), from the reported milliseconds, clamped. */
void queue_proof_window(const struct rec_event *event, uint64_t *ret_from_ns, uint64_t *ret_to_ns,
			bool *ret_reported);
/* Ticks in time order that span the stall, at least two. */
void queue_proof_judge(const struct rec_event *event, const struct tick *const *ticks, size_t n,
		       struct queue_proof *ret);
const char *queue_verdict_name(enum queue_verdict verdict);
void queue_proof_add_evidence(struct queue_proof *p, const char *what, const char *source,
			      const char *format, ...) __attribute__((format(printf, 4, 5)));

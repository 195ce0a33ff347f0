/* System-wide sampling: one perf event and one ring per core. The rings outlast a starved drain of
 * at least 10 s, because the incident that starves it is the one to be seen. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "perf_ring.h"
#include "root.h"
#include "unknowns.h"

struct perf_sampler;

struct perf_sampler_options {
	unsigned hz;       /* 1 ... 10,000 */
	size_t ring_bytes; /* per core, a power of two; 0 = by the number of cores */
};

/* Called for each record in time order over all cores. The record is valid during the call. */
typedef void (*perf_sampler_fn)(void *arg, const struct perf_ring_record *record);

/* The root must be this host. What the kernel lacks is left out and named in *unknowns.
 * -EACCES, -EPERM: the text names perf_event_paranoid and the capability. */
int perf_sampler_open(const struct root *root, const struct perf_sampler_options *options,
		      struct unknowns *unknowns, struct perf_sampler **ret, struct err *err);
void perf_sampler_close(struct perf_sampler *s);

/* An epoll descriptor that is readable when a ring is half full. */
int perf_sampler_fd(const struct perf_sampler *s);
/* Hand over all records with time < until (CLOCK_MONOTONIC); the number of records. */
size_t perf_sampler_drain(struct perf_sampler *s, uint64_t until_mono_ns, perf_sampler_fn each,
			  void *arg);
/* Follow hotplug: opens cores that came, closes those that went or are dead. Drain first: what a
 * ring still holds goes with it. Returns how many changed. */
int perf_sampler_follow_cores(struct perf_sampler *s, struct unknowns *unknowns);

struct perf_sampler_core {
	uint32_t cpu;
	uint64_t opened_mono_ns;
	uint64_t lost;    /* samples, since it was opened, by the kernel's own count */
	uint64_t records; /* handed over since it was opened */
};

const char *perf_sampler_event(const struct perf_sampler *s); /* "cycles" or "cpu-clock" */
unsigned perf_sampler_hz(const struct perf_sampler *s);
size_t perf_sampler_ring_bytes(const struct perf_sampler *s);
size_t perf_sampler_cores(const struct perf_sampler *s);
/* i < perf_sampler_cores() */
struct perf_sampler_core perf_sampler_core(const struct perf_sampler *s, size_t i);
/* Has the core's sampling ended because it was unplugged, though it may be back? Asks the core
 * itself: on one that answers no interrupts this waits. */
bool perf_sampler_check_dead(struct perf_sampler *s, size_t i);

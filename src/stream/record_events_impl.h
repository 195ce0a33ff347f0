/* What the files of the events part share: record_events.c listens to the kernel log and the
 * network, record_starvation.c watches who did not get a core. */
#pragma once

#include "episode.h"
#include "kmsg.h"
#include "kthread_wait.h"
#include "net_counters.h"
#include "pattern.h"
#include "record_events.h"
#include "xmit_timeout.h"

enum { EVENTS_MOST_CPUS = 4096 };

struct events_cpu {
	uint64_t steal, total;
	uint64_t moved_ns; /* when its total last grew, CLOCK_MONOTONIC */
	bool known, told;
};

struct events_state {
	const struct root *root;
	char store_dir[4096], boot_id[40];
	struct kmsg_reader kmsg;
	bool have_kmsg;
	uint64_t skip_to_seq; /* records up to here are in the recording already */
	uint64_t told_lost, told_overruns;
	struct pattern_set *patterns;
	struct episodes *episodes;
	struct buf records, batch, text;
	uint64_t n_records, flushed_ns;
	bool emitted; /* an episode ended: how far the log is dealt with must be written */
	bool matched; /* a line of the batch means something: to disk at once */
	struct net_counters net;
	struct xmit_timeout xmit;
	struct kthread_wait kthreads;
	struct tick net_tick, cpu_tick;
	struct core_times *cores; /* the recorder's */
	struct events_cpu cpus[EVENTS_MOST_CPUS];
	uint64_t steal_told_ns;
	double told_ratio;
	uint64_t ticks;
	unsigned shed;
	/* for callbacks, during one call of the recorder */
	struct store_writer *writer;
	uint64_t now_ns, now_mono_ns;
	struct err *err;
	int failed;
	char missing[400];                        /* what this host does not offer, told once */
	void (*say)(void *arg, const char *line); /* as in recorder_context */
	void *say_arg;
};

/* An event of our own making, at this second. */
void events_tell(struct events_state *s, enum event_source source, enum event_severity severity,
		 const char *id, const char *text, const struct rec_event_field *fields,
		 size_t n_fields);
/* Once a second: kernel threads, cores, and what pods weigh. */
void events_starvation(struct events_state *s);

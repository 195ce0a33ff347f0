/* Folded stacks, `comm;frame;...;frame count`, in the very form that FlameGraph's
 * stackcollapse-perf.pl gives for the same samples: flamegraph.pl, inferno, speedscope and years of
 * scripts read it. */
#pragma once

#include <stdbool.h>

#include "buf.h"
#include "profile.h"

struct folded_options {
	bool pid;    /* comm-PID */
	bool tid;    /* comm-PID/TID */
	bool kernel; /* mark kernel functions with _[k] */
	bool jit;    /* mark JIT-compiled functions with _[j] */
	bool addrs;  /* show the address of functions without a name */
	/* Only this event; NULL = the first one, because cycles and page faults do not add up. */
	const char *event;
};

/* Sorted by stack, one line each. */
void export_folded(struct buf *out, const struct profile *p, const struct folded_options *options);

/* The name of a frame as the folded form shows it, before markers are added: ';' and the argument
 * list are gone, control bytes are '?'. `comm` decides on Java's tidying. Appends to *out. */
void export_folded_symbol(struct buf *out, const char *symbol, size_t len, const char *comm);
/* Index of the event that a view of one event shows; -1 = all (none has a name). */
int export_folded_event(const struct profile *p, const char *wanted);
/* Whether a view of that event shows the sample; those without an event's name belong to each. */
bool export_folded_shows(const struct profile *p, const struct profile_sample *s, int event);

/* The loop of `zscope record`: aligned 1 s ticks, a set of pluggable parts, one store. Parts are
 * called from one thread and must neither fork nor wait in tick() and ready(); what they allocate
 * they allocate in open(), because the loop locks its memory afterwards.
 *
 * To add a part: a file with a `const struct recorder_part record_NAME`, and a row in
 * cli/record_parts.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core_times.h"
#include "err.h"
#include "rec_event.h"
#include "rec_self.h"
#include "root.h"
#include "store_writer.h"

struct recorder_context {
	const struct root *root; /* the live host, unless a test says otherwise */
	const char *store_dir;
	const void *options;         /* this part's own, from recorder_use; NULL = defaults */
	const struct rec_self *self; /* the recorder's meter, brought up to date before each tick */
	struct core_times *cores;    /* for all parts; each reads it when it needs to */
	/* One line for the person who runs it; NULL = silence. */
	void (*say)(void *arg, const char *line);
	void *say_arg;
};

/* Every member but name and open may be NULL. A negative return of begin_segment, tick or ready is
 * recorded as an event of source self (once per text) and the part goes on with the next tick. */
struct recorder_part {
	const char *name;
	/* A part that cannot open is named on stderr and in the recording; the rest goes on, and
	 * it is tried again every 60 ticks. */
	int (*open)(void **ret_state, const struct recorder_context *context, struct err *err);
	/* A new segment begins: write what makes it readable alone (META, keys, dictionaries). */
	int (*begin_segment)(void *state, const struct store_clock *clock, struct store_writer *w,
			     struct err *err);
	/* Once a second. */
	int (*tick)(void *state, const struct store_clock *clock, struct store_writer *w,
		    struct err *err);
	/* A descriptor to wait on (POLLIN), -1 = none just now; asked before every wait. */
	int (*fd)(void *state);
	int (*ready)(void *state, struct store_writer *w, struct err *err);
	/* 0 = full detail; each higher level must cost clearly less. The loop raises it before it
	 * misses ticks and lowers it again when there is room. */
	void (*shed)(void *state, unsigned level);
	/* The recording ends in order, all that had come is taken: tell what waits for more. */
	int (*finish)(void *state, const struct store_clock *clock, struct store_writer *w,
		      struct err *err);
	/* The segment is about to be sealed (rotation and end of recording): last frames,
	 * store_writer_footer_blob(). */
	int (*end_segment)(void *state, const struct store_clock *clock, struct store_writer *w,
			   struct err *err);
	void (*close)(void *state);
};

enum { RECORDER_MOST_PARTS = 16, RECORDER_MOST_SHED = 3 };

struct recorder_use {
	const struct recorder_part *part;
	const void *options;
};

struct recorder_options {
	const char *store_dir;
	struct store_options store;
	const struct root *root;
	const struct recorder_use *parts;
	size_t n_parts;
	uint64_t duration_ns; /* 0 = until SIGTERM, SIGINT or SIGHUP */
	uint64_t interval_ns; /* 0 = 1 s */
	/* One line for the person who runs it (no newline); NULL = silence. */
	void (*say)(void *arg, const char *line);
	/* Called once when recording has begun, then after every tick (readiness, watchdog). */
	void (*alive)(void *arg, bool first);
	void *arg;
};

/* Runs until a signal or the duration ends it; the store is flushed and sealed on the way out, and
 * what came of it is said. -EWOULDBLOCK: another recorder holds the store; -ENOSPC: all is sealed
 * that could be, but a part of it never reached the disk. */
int recorder_run(const struct recorder_options *options, struct err *err);

/* Append an event of any source as FRAME_EVENT. A critical one pins the segments around it against
 * retention. */
int recorder_put_event(struct store_writer *w, const struct rec_event *event, struct err *err);

/* One interface over now and then: ticks and events from the live host or from a recording, so that
 * every command works the same on both. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "rec_event.h"
#include "root.h"
#include "store_reader.h"
#include "tick.h"
#include "tick_source.h"
#include "unknowns.h"

struct stream;

enum stream_what {
	STREAM_TICKS = 1,
	STREAM_EVENTS = 2,
	/* For rates: the ticks are those that end the intervals of which the window consists (--at
	 * 03:12:07 is the tick at 03:12:08, as a profile of that second ends there), and the last
	 * tick before them comes first, so that each has one to be compared with. */
	STREAM_LEAD = 4,
};

struct stream_item {
	uint64_t time_ns;
	const struct tick *tick; /* one of the two is NULL; valid until the next call */
	const struct rec_event *event;
};

/* Ticks of this host, one now and then one per interval (0 = 1 s) on whole intervals of the wall
 * clock; stream_next waits for it. Events are not read live. root must outlive it. */
int stream_open_live(const struct root *root, const struct tick_source_options *options,
		     uint64_t interval_ns, struct stream **ret, struct err *err);
int stream_open_store(const char *dir, struct stream **ret, struct err *err);
void stream_close(struct stream *s); /* NULL is fine */

/* First and one past the last second; live: now and the end of time. */
int stream_span(struct stream *s, uint64_t *ret_from_ns, uint64_t *ret_to_ns, struct err *err);
/* Time between two ticks around that time, as the recorder wrote it down: the window in which a
 * pair of them is looked for follows it. Ends what a seek began. */
uint64_t stream_interval(struct stream *s, uint64_t at_ns);
/* From here on stream_next gives what of [from, to) is asked for. -ERANGE with the span in the text
 * when nothing of the window was recorded. A live stream takes only `to`. */
int stream_seek(struct stream *s, uint64_t from_ns, uint64_t to_ns, unsigned what, struct err *err);
/* 1 = *ret is an item, 0 = end of the window (of a store that is being written: so far), negative =
 * error. Damage is skipped and named in stream_losses. */
int stream_next(struct stream *s, struct stream_item *ret, struct err *err);
const struct store_losses *stream_losses(const struct stream *s);
/* What the live host does not offer; NULL for a recording. */
const struct unknowns *stream_unknowns(const struct stream *s);
/* The reader below, for frames that are neither ticks nor events; NULL when live. It must not be
 * used between stream_seek and the end of the window. */
struct store_reader *stream_store(struct stream *s);

/* All events of [from, to); each() ends the walk by returning non-zero, which is then the result.
 */
int stream_each_event(struct stream *s, uint64_t from_ns, uint64_t to_ns,
		      int (*each)(void *arg, const struct rec_event *event), void *arg,
		      struct err *err);

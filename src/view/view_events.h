/* The timeline: one line per event for people, one JSON object per line for machines, and the
 * histogram per hour. */
#pragma once

#include <stdio.h>

#include "envelope.h"
#include "event_list.h"
#include "queue_proof.h"
#include "terminal.h"

/* proof may be NULL: not a reset, or nothing was recorded around it. */
void view_event_json(struct json *j, const struct envelope *envelope, const struct rec_event *event,
		     const struct queue_proof *proof);
void view_event_text(FILE *out, const struct terminal *term, const struct rec_event *event,
		     const struct queue_proof *proof);
/* Events per hour and severity. */
void view_events_histogram_text(FILE *out, const struct terminal *term,
				const struct event_list *list);
void view_events_histogram_json(struct json *j, const struct envelope *envelope,
				const struct event_list *list, uint64_t now_ns);

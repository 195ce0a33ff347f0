/* Where `zscope events` gets its events from. */
#pragma once

#include "command.h"
#include "envelope.h"
#include "event_list.h"
#include "pattern.h"

struct events_request {
	struct invocation *in;
	struct event_filter filter;
	bool follow, histogram, lines;
	const char *patterns_file;
	struct envelope envelope;
};

/* A user's file of patterns, row by row; status 2 when one is wrong. */
int events_check_patterns(const char *path, struct invocation *in, struct err *err);
/* The built-in table with the rows of path (NULL = none). */
int events_load_patterns(const char *path, struct pattern_set **ret, struct err *err);
int events_from_log(struct events_request *request, const char *path, struct err *err);
/* The recording; without one the kernel's ring buffer. */
int events_from_store(struct events_request *request, struct err *err);

struct queue_proof;
int events_print(struct events_request *request, const struct rec_event *event,
		 const struct queue_proof *proof);
/* Histogram or list, as asked. */
int events_print_list(struct events_request *request, const struct event_list *list);

/* Events in memory, from a store, a log file or both, in order. */
#pragma once

#include "arena.h"
#include "rec_event.h"
#include "unknowns.h"
#include "vec.h"

struct event_entry {
	struct rec_event event; /* strings in the list's arena */
	uint64_t order;
};

struct event_list {
	struct arena arena;
	VEC(struct event_entry) list;
	bool failed; /* out of memory: the list is not complete */
};

/* What the user wants to see; zero = everything. */
struct event_filter {
	const char *source, *id; /* id: shell pattern */
	bool have_severity;
	enum event_severity least;
	uint64_t from_ns, to_ns; /* 0, 0 = any time */
	const char *key;         /* --event */
};

void event_list_add(struct event_list *l, const struct rec_event *event, uint64_t order);
void event_list_sort(struct event_list *l);
void event_list_free(struct event_list *l);
bool event_filter_takes(const struct event_filter *f, const struct rec_event *event);

#define AUTO_EVENT_LIST __attribute__((cleanup(event_list_free)))

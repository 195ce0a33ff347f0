/* One event of the timeline, whatever source it comes from; the JSON contract's `events` line.
 * Sources fill it, the store keeps it, the rules read it. All strings are hostile bytes until
 * escaped. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "buf.h"
#include "json.h"

enum event_source {
	EVENT_KMSG,
	EVENT_UNIT,
	EVENT_CONTAINER,
	EVENT_CGROUP,
	EVENT_NET,
	EVENT_LAB,
	EVENT_NOTE,
	EVENT_SELF, /* the recorder itself: gaps, lost samples, clock steps */
	EVENT_SOURCE_END,
};

enum event_severity {
	EVENT_INFO,
	EVENT_WARN,
	EVENT_CRIT,
};

struct rec_event_field {
	const char *key;
	const char *value;
};

struct rec_event {
	uint64_t time_ns; /* 0 = the log that it comes from carries no times */
	uint64_t end_ns;  /* = time_ns when it has no length */
	enum event_source source;
	enum event_severity severity;
	bool trusted;   /* the kernel's or the service manager's own word, cannot be forged from
			   userspace */
	bool injected;  /* made by zscope's lab; every view says so */
	uint64_t count; /* lines or occurrences folded into this event, at least 1 */
	const char *id; /* "net-driver-reset", "unit-restart" ... */
	const char *text;
	const struct rec_event_field *fields;
	size_t n_fields;
};

const char *event_source_name(enum event_source source);
int event_source_parse(const char *name, enum event_source *ret);
const char *event_severity_name(enum event_severity severity);
/* The value of a field; NULL when absent. */
const char *rec_event_field(const struct rec_event *event, const char *key);
/* The stable name of an event for `--event ID`: hash of time, id and text as 12 hex digits. */
void rec_event_key(const struct rec_event *event, char ret[16]);

void rec_event_encode(struct buf *out, const struct rec_event *event);
/* Strings are copied into the arena. -EBADMSG when the bytes are no event. */
int rec_event_decode(const void *bytes, size_t len, struct arena *arena, struct rec_event *ret);
/* The members of the contract's object; the caller opens and closes the object. */
void rec_event_json(struct json *j, const struct rec_event *event);

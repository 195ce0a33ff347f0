#include "rec_event.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "map.h"
#include "wire.h"

enum { EVENT_MOST_FIELDS = 256, EVENT_TRUSTED = 1, EVENT_INJECTED = 2 };

static const char *const source_names[] = {
	[EVENT_KMSG] = "kmsg",     [EVENT_UNIT] = "unit", [EVENT_CONTAINER] = "container",
	[EVENT_CGROUP] = "cgroup", [EVENT_NET] = "net",   [EVENT_LAB] = "lab",
	[EVENT_NOTE] = "note",     [EVENT_SELF] = "self",
};

static const char *const severity_names[] = {
	[EVENT_INFO] = "info",
	[EVENT_WARN] = "warn",
	[EVENT_CRIT] = "crit",
};

const char *event_source_name(enum event_source source)
{
	return source < EVENT_SOURCE_END ? source_names[source] : "unknown";
}

int event_source_parse(const char *name, enum event_source *ret)
{
	for (unsigned i = 0; i < EVENT_SOURCE_END; i++) {
		if (strcmp(name, source_names[i]) == 0) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *event_severity_name(enum event_severity severity)
{
	return severity <= EVENT_CRIT ? severity_names[severity] : "unknown";
}

const char *rec_event_field(const struct rec_event *event, const char *key)
{
	for (size_t i = 0; i < event->n_fields; i++)
		if (strcmp(event->fields[i].key, key) == 0)
			return event->fields[i].value;
	return NULL;
}

void rec_event_key(const struct rec_event *event, char ret[16])
{
	uint64_t h = hash_u64(event->time_ns) ^ hash_bytes(event->id, strlen(event->id)) ^
		     hash_bytes(event->text, strlen(event->text)) * 3;
	snprintf(ret, 16, "%012" PRIx64, hash_u64(h) >> 16);
}

void rec_event_encode(struct buf *out, const struct rec_event *event)
{
	wire_put_u64(out, event->time_ns);
	wire_put_u64(out, event->end_ns - event->time_ns);
	wire_put_u64(out, event->source);
	wire_put_u64(out, event->severity);
	wire_put_u64(out,
		     (event->trusted ? EVENT_TRUSTED : 0) | (event->injected ? EVENT_INJECTED : 0));
	wire_put_u64(out, event->count);
	wire_put_bytes(out, event->id, strlen(event->id));
	wire_put_bytes(out, event->text, strlen(event->text));
	wire_put_u64(out, event->n_fields);
	for (size_t i = 0; i < event->n_fields; i++) {
		wire_put_bytes(out, event->fields[i].key, strlen(event->fields[i].key));
		wire_put_bytes(out, event->fields[i].value, strlen(event->fields[i].value));
	}
}

static const char *event_get_str(struct wire_reader *r, struct arena *arena)
{
	size_t len;
	const char *bytes = wire_get_bytes(r, &len);
	const char *copy = bytes ? arena_strndup(arena, bytes, len) : NULL;
	if (!copy)
		r->failed = true;
	return copy ? copy : "";
}

int rec_event_decode(const void *bytes, size_t len, struct arena *arena, struct rec_event *ret)
{
	struct wire_reader r;
	struct rec_event e = { 0 };

	wire_open(&r, bytes, len);
	e.time_ns = wire_get_u64(&r);
	e.end_ns = e.time_ns + wire_get_u64(&r);
	e.source = (enum event_source)wire_get_u64(&r);
	e.severity = (enum event_severity)wire_get_u64(&r);
	uint64_t flags = wire_get_u64(&r);
	e.trusted = flags & EVENT_TRUSTED;
	e.injected = flags & EVENT_INJECTED;
	e.count = wire_get_u64(&r);
	e.id = event_get_str(&r, arena);
	e.text = event_get_str(&r, arena);
	e.n_fields = wire_get_u64(&r);
	if (r.failed || e.source >= EVENT_SOURCE_END || e.severity > EVENT_CRIT ||
	    e.n_fields > EVENT_MOST_FIELDS)
		return -EBADMSG;
	struct rec_event_field *fields = arena_alloc(arena, e.n_fields * sizeof(*fields) + 1);
	if (!fields)
		return -ENOMEM;
	for (size_t i = 0; i < e.n_fields; i++) {
		fields[i].key = event_get_str(&r, arena);
		fields[i].value = event_get_str(&r, arena);
	}
	if (r.failed || r.at != r.end)
		return -EBADMSG;
	e.fields = fields;
	*ret = e;
	return 0;
}

void rec_event_json(struct json *j, const struct rec_event *event)
{
	char key[16];

	rec_event_key(event, key);
	if (event->time_ns) /* a log without times gives events without one */
		json_time(j, "time", event->time_ns);
	if (event->end_ns > event->time_ns)
		json_time(j, "end", event->end_ns);
	json_str(j, "source", event_source_name(event->source));
	json_str(j, "id", event->id);
	json_str(j, "event", key);
	json_str(j, "severity", event_severity_name(event->severity));
	json_bool(j, "trusted", event->trusted);
	if (event->injected)
		json_bool(j, "injected", true);
	json_u64(j, "count", event->count);
	json_object(j, "fields");
	for (size_t i = 0; i < event->n_fields; i++)
		json_str(j, event->fields[i].key, event->fields[i].value);
	json_end_object(j);
	json_str(j, "text", event->text);
}

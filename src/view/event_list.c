#include "event_list.h"

#include <string.h>

#include "text.h"

void event_list_add(struct event_list *l, const struct rec_event *event, uint64_t order)
{
	struct event_entry entry = { .event = *event, .order = order };
	struct rec_event_field *fields =
		arena_alloc(&l->arena, (event->n_fields + 1) * sizeof(*fields));

	entry.event.id = arena_strdup(&l->arena, event->id);
	entry.event.text = arena_strdup(&l->arena, event->text);
	for (size_t i = 0; fields && i < event->n_fields; i++) {
		fields[i].key = arena_strdup(&l->arena, event->fields[i].key);
		fields[i].value = arena_strdup(&l->arena, event->fields[i].value);
		if (!fields[i].key || !fields[i].value)
			fields = NULL;
	}
	entry.event.fields = fields;
	if (!fields || !entry.event.id || !entry.event.text || !vec_push(&l->list, entry))
		l->failed = true;
}

static int event_list_compare(const void *a, const void *b)
{
	const struct event_entry *x = a, *y = b;

	if (x->event.time_ns && y->event.time_ns && x->event.time_ns != y->event.time_ns)
		return x->event.time_ns < y->event.time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

void event_list_sort(struct event_list *l)
{
	vec_sort(&l->list, event_list_compare);
}

void event_list_free(struct event_list *l)
{
	vec_free(&l->list);
	arena_free(&l->arena);
}

bool event_filter_takes(const struct event_filter *f, const struct rec_event *event)
{
	char key[16];

	if (f->source && strcmp(f->source, event_source_name(event->source)) != 0)
		return false;
	if (f->id && !text_glob(f->id, event->id))
		return false;
	if (f->have_severity && event->severity < f->least)
		return false;
	if (f->to_ns && event->time_ns &&
	    (event->time_ns >= f->to_ns || event->end_ns < f->from_ns))
		return false;
	if (f->key) {
		rec_event_key(event, key);
		return strcmp(key, f->key) == 0;
	}
	return true;
}

/* `zscope events` on a recording, or on the kernel's ring buffer where nothing was recorded. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "episode.h"
#include "events_log.h"
#include "events_proof.h"
#include "kmsg.h"
#include "kmsg_batch.h"
#include "map.h"
#include "note_spool.h"
#include "root.h"
#include "store_reader.h"
#include "stream.h"
#include "timefmt.h"

enum {
	EVENTS_POLL_MS = 500,
	/* Resets that are proven in one listing; each reads its seconds. --event asks for one. */
	EVENTS_MOST_PROOFS = 100,
};

struct events_walk {
	struct events_request *request;
	struct event_list list;
	uint64_t order;
};

static int events_take(void *arg, const struct rec_event *event)
{
	struct events_walk *walk = arg;

	if (event_filter_takes(&walk->request->filter, event))
		event_list_add(&walk->list, event, walk->order++);
	return 0;
}

static int events_print_store(struct events_walk *walk, struct stream *stream)
{
	int r = 0;
	unsigned proofs = 0;

	event_list_sort(&walk->list);
	if (walk->request->histogram)
		return events_print_list(walk->request, &walk->list);
	vec_foreach (&walk->list.list, entry) {
		struct queue_proof proof;
		bool proven = stream && proofs < EVENTS_MOST_PROOFS &&
			      events_prove(stream, &entry->event, &proof);
		proofs += proven;
		if (r >= 0)
			r = events_print(walk->request, &entry->event, proven ? &proof : NULL);
	}
	return r;
}

/* New events of a recording that is being written: look again from where the last look ended. A
 * little overlap, because an event is written when its episode is over; what was shown is known by
 * its key. */
static int events_follow_store(struct events_walk *walk, const char *dir, uint64_t from_ns,
			       struct err *err)
{
	AUTO_MAP_STR struct map_str shown = { 0 };
	char key[16];

	vec_foreach (&walk->list.list, entry) {
		rec_event_key(&entry->event, key);
		(void)map_str_put(&shown, key, strlen(key), NULL);
	}
	for (;;) {
		struct stream *stream;
		int r = stream_open_store(dir, &stream, err);
		if (r < 0)
			return r;
		struct events_walk more = { .request = walk->request };
		uint64_t now = clock_real_ns();
		r = stream_each_event(stream, from_ns, UINT64_MAX, events_take, &more, err);
		from_ns = MAX_OF(from_ns, now > 120 * NS_PER_S ? now - 120 * NS_PER_S : 0);
		event_list_sort(&more.list);
		vec_foreach (&more.list.list, entry) {
			bool is_new = false;
			struct queue_proof proof;
			rec_event_key(&entry->event, key);
			(void)map_str_put(&shown, key, strlen(key), &is_new);
			if (!is_new)
				continue;
			bool proven = events_prove(stream, &entry->event, &proof);
			events_print(walk->request, &entry->event, proven ? &proof : NULL);
		}
		stream_close(stream);
		event_list_free(&more.list);
		if (r < 0 && r != -ERANGE)
			return r;
		if (fflush(stdout) != 0)
			return STATUS_OK; /* the reader went away */
		poll(NULL, 0, EVENTS_POLL_MS);
	}
}

struct events_live {
	struct events_request *request;
	struct pattern_set *patterns;
	struct episodes *episodes;
	struct events_walk walk;
	struct kmsg_reader kmsg;
	bool print_now;
};

static void events_live_emit(void *arg, const struct rec_event *event, uint64_t order)
{
	struct events_live *live = arg;

	(void)order;
	if (!live->print_now)
		events_take(&live->walk, event);
	else if (event_filter_takes(&live->request->filter, event))
		events_print(live->request, event, NULL);
}

static int events_live_read(struct events_live *live, struct err *err)
{
	struct kmsg_record record;
	int r;

	while ((r = kmsg_next(&live->kmsg, &record, err)) > 0)
		(void)episodes_record(live->episodes, live->patterns, &record);
	return r;
}

static int events_live_run(struct events_live *live, struct err *err)
{
	int r = events_live_read(live, err);
	if (r < 0)
		return r;
	if (!live->request->follow)
		episodes_flush(live->episodes);
	else
		episodes_advance(live->episodes, clock_real_ns());
	event_list_sort(&live->walk.list);
	r = events_print_list(live->request, &live->walk.list);
	live->print_now = true;
	while (r >= 0 && live->request->follow) {
		struct pollfd fd = { .fd = live->kmsg.fd, .events = POLLIN };
		if (fflush(stdout) != 0)
			break;
		poll(&fd, 1, EVENTS_POLL_MS);
		r = events_live_read(live, err);
		episodes_advance(live->episodes, clock_real_ns());
	}
	if (live->kmsg.lost)
		fprintf(stderr, "zscope: %llu records were lost before they could be read\n",
			(unsigned long long)live->kmsg.lost);
	return r;
}

/* Nothing recorded: what the kernel's ring still holds. */
static int events_from_ring(struct events_request *request, const struct root *root,
			    struct err *err)
{
	AUTO_FREE struct events_live *live = calloc(1, sizeof(*live));

	if (!live)
		return err_set(err, -ENOMEM, "out of memory");
	live->request = live->walk.request = request;
	int r = events_load_patterns(request->patterns_file, &live->patterns, err);
	if (r < 0)
		return r;
	r = kmsg_open(&live->kmsg, root, true, err);
	if (r >= 0) {
		live->episodes = episodes_new(events_live_emit, live);
		r = live->episodes ? events_live_run(live, err)
				   : err_set(err, -ENOMEM, "out of memory");
		kmsg_close(&live->kmsg);
	} else {
		r = err_prefix(err, r, "no recording, and the kernel's ring cannot be read");
	}
	episodes_free(live->episodes);
	pattern_set_free(live->patterns);
	event_list_free(&live->walk.list);
	return r;
}

/* The kernel's lines as they were read from /dev/kmsg; `events --log` reads them again. */
static int events_print_lines(const char *dir, uint64_t from_ns, uint64_t to_ns, struct err *err)
{
	struct store_reader *reader;
	struct frame frame;
	int r = store_reader_open(dir, &reader, err);

	if (r < 0)
		return r;
	/* frames lie at the time of their writing, after the records' own */
	r = store_reader_seek(reader, from_ns, UINT64_MAX, FRAME_BIT(FRAME_KMSG), err);
	while (r >= 0 && (r = store_reader_next(reader, &frame, err)) > 0) {
		struct kmsg_batch batch;
		const char *raw;
		uint64_t time_ns;
		size_t len;
		if (kmsg_batch_open(&batch, frame.payload, frame.len) < 0)
			continue;
		while (kmsg_batch_next(&batch, &time_ns, &raw, &len) > 0) {
			if (time_ns < from_ns || time_ns >= to_ns)
				continue;
			for (size_t i = 0; i < len; i++) /* the kernel escapes all others itself */
				putchar(raw[i] == '\n' || (raw[i] >= ' ' && raw[i] < 127) ? raw[i]
											  : '?');
		}
	}
	store_reader_close(reader);
	return r;
}

static int events_recorded(struct events_request *request, struct stream *stream, const char *dir,
			   struct err *err)
{
	struct events_walk walk = { .request = request };
	uint64_t from, to, span_from, span_to;

	int r = stream_span(stream, &span_from, &span_to, err);
	if (r < 0)
		return r;
	/* the ring reaches back before the recording began */
	span_from = span_from > 86400 * NS_PER_S ? span_from - 86400 * NS_PER_S : 0;
	r = command_window(request->in, span_from, span_to + 1, &from, &to, err);
	if (r < 0)
		return r;
	const struct common *c = &request->in->common;
	if (c->from.set && !c->to.set && !c->length.set)
		to = UINT64_MAX; /* notes, and what --follow waits for, come after the recording */
	if (request->lines)
		return events_print_lines(dir, from, to, err);
	if (c->at.set || c->from.set || c->to.set) {
		request->filter.from_ns = from;
		request->filter.to_ns = to;
	}
	/* frames lie at the time of their writing, after the event's own */
	r = stream_each_event(stream, from, to > UINT64_MAX / 2 ? to : to + 120 * NS_PER_S,
			      events_take, &walk, err);
	if (r == -ERANGE)
		r = 0;
	if (r >= 0)
		r = note_spool_each(dir, false, events_take, &walk, err);
	if (r >= 0)
		r = events_print_store(&walk, stream);
	if (r >= 0 && request->follow)
		r = events_follow_store(
			&walk, dir, span_to > 120 * NS_PER_S ? span_to - 120 * NS_PER_S : 0, err);
	event_list_free(&walk.list);
	return r;
}

/* Notes are shown even before anything was recorded. */
static int events_only_notes(struct events_request *request, const char *dir, struct err *err)
{
	struct events_walk walk = { .request = request };

	int r = note_spool_each(dir, false, events_take, &walk, err);
	if (r >= 0)
		r = events_print_store(&walk, NULL);
	event_list_free(&walk.list);
	return r;
}

int events_from_store(struct events_request *request, struct err *err)
{
	const char *dir = request->in->store;
	AUTO_ROOT struct root root = { .fd = -1 };
	struct stream *stream;
	struct err why = { 0 };

	int r = command_root(request->in, &root, err);
	if (r < 0)
		return r;
	envelope_read(&root, &request->envelope);
	r = stream_open_store(dir, &stream, &why);
	if (r >= 0) {
		r = events_recorded(request, stream, dir, err);
		stream_close(stream);
		if (r != -ENODATA)
			return r < 0 ? r : STATUS_OK;
	} else if (request->in->common.store) {
		return err_set(err, r, "%s", why.text);
	}
	if (request->lines)
		return err_set(err, -ENODATA, "--lines needs a recording, or --log FILE");
	r = events_only_notes(request, dir, NULL);
	r = events_from_ring(request, &root, err);
	return r < 0 ? r : STATUS_OK;
}

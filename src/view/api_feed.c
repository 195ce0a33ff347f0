/* The follower: reads the recording once, then whatever is appended, and keeps its shape. */
#include <errno.h>
#include <string.h>

#include "api.h"
#include "auto.h"
#include "census_summary.h"
#include "churn_summary.h"
#include "map.h"
#include "note_spool.h"
#include "text.h"
#include "tick_codec.h"
#include "timefmt.h"

enum {
	BEHIND_S = 10, /* events may carry times a little older than ticks already on disk */
	MOST_LOSSES = 16,
};

#define FEED_KINDS                                                                    \
	(FRAME_BIT(FRAME_KEY) | FRAME_BIT(FRAME_TICK) | FRAME_BIT(FRAME_EVENT) |      \
	 FRAME_BIT(FRAME_TOTALS) | FRAME_BIT(FRAME_CENSUS) | FRAME_BIT(FRAME_CHURN) | \
	 FRAME_BIT(FRAME_META))

struct feed {
	struct api *api;
	struct store_reader *reader;
	struct tick_codec *codec;
	struct tick tick;
	uint64_t segment; /* of the key that the codec holds */
	uint64_t last_tick_ns, last_churn_ns, last_census_ns, tell_ns;
	struct map_u64 seen; /* events of the last seconds, by hash */
};

static void swap_ticks(struct tick *a, struct tick *b)
{
	struct tick t = *a;
	*a = *b;
	*b = t;
}

static void feed_tick(struct feed *f, const struct frame *frame)
{
	struct api *api = f->api;

	if (f->segment != frame->segment || frame->time_ns <= f->last_tick_ns)
		return;
	if (tick_codec_decode(f->codec, frame->payload, frame->len, &f->tick) < 0)
		return;
	f->last_tick_ns = frame->time_ns;
	pthread_mutex_lock(&api->lock);
	timeline_feed(&api->timeline, &f->tick);
	totals_feed_tick(&api->totals, &f->tick);
	swap_ticks(&api->last, &f->tick);
	pthread_mutex_unlock(&api->lock);
}

/* Old events are dropped in halves, so that dropping is rare. */
static void make_room(struct api *api)
{
	struct arena text = { 0 };
	size_t keep = api->events.len / 2, drop = api->events.len - keep;
	AUTO_BUF struct buf bytes = { 0 };

	if (api->events.len < API_MOST_EVENTS)
		return;
	for (size_t i = 0; i < keep; i++) {
		buf_clear(&bytes);
		rec_event_encode(&bytes, &api->events.items[drop + i]);
		rec_event_decode(bytes.data, bytes.len, &text, &api->events.items[i]);
	}
	api->events.len = keep;
	api->dropped_events += drop;
	arena_free(&api->event_text);
	api->event_text = text;
}

static void feed_event(struct feed *f, const struct frame *frame)
{
	struct api *api = f->api;
	struct rec_event event;
	bool is_new = true;
	uint64_t *slot = map_u64_put(
		&f->seen, hash_bytes(frame->payload, frame->len) ^ hash_u64(frame->time_ns),
		&is_new);

	if (slot)
		*slot = frame->time_ns;
	if (!is_new)
		return;
	pthread_mutex_lock(&api->lock);
	make_room(api);
	if (rec_event_decode(frame->payload, frame->len, &api->event_text, &event) == 0) {
		size_t at = api->events.len;
		totals_feed_event(&api->totals, &event);
		if (vec_push(&api->events, event)) {
			/* nearly in order: the last seconds only */
			for (; at > 0 && api->events.items[at - 1].time_ns > event.time_ns; at--)
				api->events.items[at] = api->events.items[at - 1];
			api->events.items[at] = event;
		}
	}
	pthread_mutex_unlock(&api->lock);
}

/* What was counted before the oldest second that is still on disk. */
static void feed_totals(struct feed *f, const struct frame *frame)
{
	pthread_mutex_lock(&f->api->lock);
	if (!f->api->totals.fed && frame->version == TOTALS_VERSION)
		totals_decode(&f->api->totals, frame->payload, frame->len);
	pthread_mutex_unlock(&f->api->lock);
}

static void feed_census(struct feed *f, const struct frame *frame)
{
	AUTO_CENSUS_SUMMARY struct census_summary s = { 0 };
	struct api *api = f->api;

	if (frame->time_ns <= f->last_census_ns ||
	    census_summary_decode(frame->payload, frame->len, &s) < 0)
		return;
	f->last_census_ns = frame->time_ns;
	pthread_mutex_lock(&api->lock);
	buf_clear(&api->census);
	buf_add(&api->census, frame->payload, frame->len);
	pthread_mutex_unlock(&api->lock);
}

/* A stretch is counted once: churn frames come in time order. */
static void feed_churn(struct feed *f, const struct frame *frame)
{
	AUTO_CHURN_SUMMARY struct churn_summary churn = { 0 };

	if (frame->time_ns <= f->last_churn_ns ||
	    churn_summary_decode(frame->payload, frame->len, &churn) < 0)
		return;
	f->last_churn_ns = frame->time_ns;
	pthread_mutex_lock(&f->api->lock);
	totals_feed_churn(&f->api->totals, &churn);
	pthread_mutex_unlock(&f->api->lock);
}

/* The recording may come from another host. */
static void feed_meta(struct feed *f, const struct frame *frame)
{
	pthread_mutex_lock(&f->api->lock);
	envelope_parse_meta(frame->payload, frame->len, &f->api->envelope);
	pthread_mutex_unlock(&f->api->lock);
}

static void forget_seen(struct feed *f)
{
	uint64_t before = f->last_tick_ns > 2 * BEHIND_S * NS_PER_S
				  ? f->last_tick_ns - 2 * BEHIND_S * NS_PER_S
				  : 0;
	struct map_u64 kept = { 0 };
	uint64_t key, *value;
	size_t at = 0;

	if (f->seen.len < 4096)
		return;
	while (map_u64_next(&f->seen, &at, &key, &value))
		if (*value >= before) {
			uint64_t *slot = map_u64_put(&kept, key, NULL);
			if (slot)
				*slot = *value;
		}
	map_u64_free(&f->seen);
	f->seen = kept;
}

static void keep_losses(struct feed *f)
{
	const struct store_losses *losses = store_reader_losses(f->reader);
	struct api *api = f->api;

	pthread_mutex_lock(&api->lock);
	for (size_t i = 0; i < losses->list.len; i++) {
		bool known = api->losses.len >= MOST_LOSSES;
		vec_foreach (&api->losses, l)
			known = known || strcmp(l->why, losses->list.items[i].why) == 0;
		if (!known)
			(void)vec_push(&api->losses, losses->list.items[i]);
	}
	pthread_mutex_unlock(&api->lock);
}

static int feed_frames(struct feed *f, struct err *err)
{
	uint64_t from =
		f->last_tick_ns > BEHIND_S * NS_PER_S ? f->last_tick_ns - BEHIND_S * NS_PER_S : 0;
	struct frame frame;
	int r = store_reader_seek(f->reader, from, UINT64_MAX, FEED_KINDS, err);

	while (r >= 0 && (r = store_reader_next(f->reader, &frame, err)) > 0) {
		if (frame.kind == FRAME_KEY &&
		    tick_codec_decode_key(f->codec, frame.payload, frame.len) == 0)
			f->segment = frame.segment;
		else if (frame.kind == FRAME_TICK)
			feed_tick(f, &frame);
		else if (frame.kind == FRAME_EVENT)
			feed_event(f, &frame);
		else if (frame.kind == FRAME_TOTALS)
			feed_totals(f, &frame);
		else if (frame.kind == FRAME_CENSUS)
			feed_census(f, &frame);
		else if (frame.kind == FRAME_CHURN)
			feed_churn(f, &frame);
		else if (frame.kind == FRAME_META)
			feed_meta(f, &frame);
	}
	keep_losses(f);
	forget_seen(f);
	return r;
}

/* One look at the store. */
static int feed_once(struct feed *f, struct err *err)
{
	uint64_t from = 0, to = 0;
	int r = f->reader ? 0 : store_reader_open(f->api->store, &f->reader, err);

	if (r < 0)
		return r;
	r = store_reader_span(f->reader, &from, &to, err);
	if (r == -ENODATA) {
		pthread_mutex_lock(&f->api->lock);
		f->api->empty = true;
		pthread_mutex_unlock(&f->api->lock);
		return 0;
	}
	if (r >= 0)
		r = feed_frames(f, err);
	if (r < 0)
		return r;
	pthread_mutex_lock(&f->api->lock);
	f->api->empty = false;
	f->api->from_ns = from;
	f->api->to_ns = to;
	pthread_mutex_unlock(&f->api->lock);
	return 0;
}

static void publish(struct feed *f)
{
	struct api *api = f->api;
	AUTO_BUF struct buf out = { 0 };
	struct json j;
	uint64_t now = clock_real_ns();

	json_init(&j, &out);
	pthread_mutex_lock(&api->lock);
	json_object(&j, NULL);
	json_u64(&j, "from_ns", api->from_ns);
	json_u64(&j, "to_ns", api->to_ns);
	json_bool(&j, "live", api->to_ns + 5 * NS_PER_S > now);
	json_end_object(&j);
	/* also every 15 s without news: proxies and pages learn that we are there */
	if (api->server && !api->empty && (f->tell_ns != api->to_ns || now / NS_PER_S % 15 == 0)) {
		f->tell_ns = api->to_ns;
		http_server_publish(api->server, "span", buf_str(&out));
	}
	pthread_mutex_unlock(&api->lock);
}

/* A store that was moved away or removed: the open reader would go on with files that nobody sees
 * any more. */
static bool store_vanished(const struct feed *f)
{
	return access(f->api->store, R_OK | X_OK) < 0;
}

static void feed_step(struct feed *f)
{
	struct api *api = f->api;
	struct err err = { 0 };
	int r;

	if (f->reader && store_vanished(f)) {
		store_reader_close(f->reader);
		f->reader = NULL;
	}
	r = feed_once(f, &err);
	if (r < 0 && f->reader) {
		store_reader_close(f->reader);
		f->reader = NULL;
	}
	pthread_mutex_lock(&api->lock);
	api->gone = (struct err){ 0 };
	if (r < 0)
		api->gone = err;
	api->loaded = true;
	pthread_cond_broadcast(&api->wake);
	pthread_mutex_unlock(&api->lock);
	if (r >= 0)
		publish(f);
}

static int feed_open(struct feed *f, struct api *api, struct err *err)
{
	*f = (struct feed){ .api = api, .codec = tick_codec_new(), .segment = UINT64_MAX };
	return f->codec ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static void feed_close(struct feed *f)
{
	store_reader_close(f->reader);
	tick_codec_free(f->codec);
	tick_free(&f->tick);
	map_u64_free(&f->seen);
}

static void *feed_thread(void *arg)
{
	struct api *api = arg;
	struct feed f;
	bool stop = feed_open(&f, api, NULL) < 0;

	while (!stop) {
		struct timespec until;

		feed_step(&f);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += 1;
		pthread_mutex_lock(&api->lock);
		while (!api->stopping &&
		       pthread_cond_timedwait(&api->wake, &api->lock, &until) != ETIMEDOUT)
			;
		stop = api->stopping;
		pthread_mutex_unlock(&api->lock);
	}
	feed_close(&f);
	return NULL;
}

static struct api *api_new(const char *store)
{
	struct api *api = calloc(1, sizeof(*api));

	if (!api)
		return NULL;
	text_copy(api->store, sizeof(api->store), store);
	pthread_mutex_init(&api->lock, NULL);
	pthread_cond_init(&api->wake, NULL);
	envelope_read_live(&api->envelope);
	return api;
}

int api_open(const char *store, struct api **ret, struct err *err)
{
	struct api *api = api_new(store);

	if (!api)
		return err_set(err, -ENOMEM, "out of memory");
	api->running = pthread_create(&api->thread, NULL, feed_thread, api) == 0;
	if (!api->running) {
		api_close(api);
		return err_set(err, -EAGAIN, "no thread for the recording");
	}
	*ret = api;
	return 0;
}

/* Notes that no recorder has taken yet: what was just done belongs into a report. */
static int feed_note(void *arg, const struct rec_event *event)
{
	AUTO_BUF struct buf bytes = { 0 };
	struct frame frame = { .kind = FRAME_EVENT, .time_ns = event->time_ns };

	rec_event_encode(&bytes, event);
	frame.payload = bytes.data;
	frame.len = bytes.len;
	if (!bytes.failed)
		feed_event(arg, &frame);
	return 0;
}

int api_open_once(const char *store, struct api **ret, struct err *err)
{
	struct api *api = api_new(store);
	struct feed f = { 0 };
	int r = api ? feed_open(&f, api, err) : err_set(err, -ENOMEM, "out of memory");

	if (r >= 0) {
		r = feed_once(&f, err);
		if (r >= 0)
			(void)note_spool_each(store, false, feed_note, &f, NULL);
		api->loaded = true;
	}
	feed_close(&f);
	if (r < 0) {
		api_close(api);
		return r;
	}
	*ret = api;
	return 0;
}

void api_server(struct api *api, struct http_server *server)
{
	pthread_mutex_lock(&api->lock);
	api->server = server;
	pthread_mutex_unlock(&api->lock);
}

void api_close(struct api *api)
{
	if (!api)
		return;
	if (api->running) {
		pthread_mutex_lock(&api->lock);
		api->stopping = true;
		pthread_cond_broadcast(&api->wake);
		pthread_mutex_unlock(&api->lock);
		pthread_join(api->thread, NULL);
	}
	timeline_free(&api->timeline);
	totals_free(&api->totals);
	arena_free(&api->event_text);
	vec_free(&api->events);
	vec_free(&api->losses);
	tick_free(&api->last);
	buf_free(&api->census);
	buf_free(&api->metrics[0]);
	buf_free(&api->metrics[1]);
	pthread_mutex_destroy(&api->lock);
	pthread_cond_destroy(&api->wake);
	free(api);
}

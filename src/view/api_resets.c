/* Driver resets with their proof: queue to interrupt to core to task, from the seconds around each.
 */
#include <string.h>

#include "api.h"
#include "auto.h"
#include "events_proof.h"
#include "view_events.h"

enum { RESETS_MOST = 50 }; /* each reads its own seconds of the recording */

struct resets {
	VEC(struct rec_event) list; /* newest first */
	struct arena text;
	size_t total;
};

static void resets_free(struct resets *r)
{
	vec_free(&r->list);
	arena_free(&r->text);
}

static bool is_reset(const struct rec_event *e)
{
	return strncmp(e->id, "net-driver-", 11) == 0 || strncmp(e->id, "net-tx-", 7) == 0;
}

static bool has_key(const struct rec_event *e, const char *key)
{
	char own[16];

	rec_event_key(e, own);
	return strcmp(own, key) == 0;
}

/* Copies, because the follower may drop old events meanwhile. */
static void take_resets(struct api *api, const struct api_window *w, const char *key, size_t limit,
			struct resets *ret)
{
	AUTO_BUF struct buf bytes = { 0 };

	pthread_mutex_lock(&api->lock);
	for (size_t i = api->events.len; i-- > 0;) {
		const struct rec_event *e = &api->events.items[i];
		struct rec_event copy;

		if (!is_reset(e) ||
		    (key ? !has_key(e, key) : e->time_ns < w->from_ns || e->time_ns > w->to_ns))
			continue;
		if (ret->total++ >= limit)
			continue;
		buf_clear(&bytes);
		rec_event_encode(&bytes, e);
		if (rec_event_decode(bytes.data, bytes.len, &ret->text, &copy) == 0)
			(void)vec_push(&ret->list, copy);
	}
	pthread_mutex_unlock(&api->lock);
}

int api_resets(struct api *api, const struct http_request *q, struct http_answer *a,
	       struct err *err)
{
	AUTO(resets_free) struct resets resets = { 0 };
	struct stream *stream = NULL;
	struct api_window w;
	uint64_t limit;
	struct json j;
	int r = api_window(api, q->query, &w, err);

	if (r >= 0)
		r = http_query_u64(q->query, "limit", 20, 1, RESETS_MOST, &limit, err);
	if (r < 0)
		return r;
	take_resets(api, &w, http_query_get(q->query, "event"), limit, &resets);
	r = resets.list.len ? api_stream(api, &stream, err) : 0;
	if (r < 0)
		return r;
	api_begin(api, &j, &a->body, "resets");
	json_u64(&j, "total", resets.total);
	json_array(&j, "resets");
	vec_foreach (&resets.list, e) {
		struct queue_proof proof;
		bool proven = events_prove(stream, e, &proof);
		view_event_json(&j, &api->envelope, e, proven ? &proof : NULL);
	}
	json_end_array(&j);
	api_end(&j);
	if (stream)
		api_stream_close(api, stream);
	return 0;
}

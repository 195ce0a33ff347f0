/* Answers that other commands give too: one second of all cores, zombies, units, why. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "api.h"
#include "auto.h"
#include "census_summary.h"
#include "rates.h"
#include "rec_cgroups.h"
#include "stream.h"
#include "timefmt.h"
#include "view_cores.h"
#include "view_zombies.h"

/* The tick at `time` and the one before it. */
static int read_pair(struct stream *s, uint64_t time_ns, struct rates *ret, struct err *err)
{
	AUTO_TICK struct tick before = { 0 };
	struct stream_item item;
	bool have = false;
	int r = stream_seek(s, time_ns, time_ns + 10 * NS_PER_S, STREAM_TICKS | STREAM_LEAD, err);

	while (r >= 0 && (r = stream_next(s, &item, err)) > 0) {
		if (have)
			return rates_compute(&before, item.tick, ret) < 0
				       ? err_set(err, -ENODATA,
						 "this second cannot be compared with the one "
						 "before")
				       : 0;
		if (tick_copy(&before, item.tick) < 0)
			return err_set(err, -ENOMEM, "out of memory");
		have = true;
	}
	return r < 0 ? r : err_set(err, -ENODATA, "this second was not recorded");
}

int api_cores_at(struct api *api, const struct http_request *q, struct http_answer *a,
		 struct err *err)
{
	AUTO_RATES struct rates rates = { 0 };
	struct stream *s = NULL;
	struct json j;
	uint64_t time_ns;
	int r = http_query_time(q->query, "time", 0, clock_real_ns(), &time_ns, err);

	if (r >= 0 && !time_ns)
		r = err_set(err, -EINVAL, "time is missing");
	if (r >= 0)
		r = stream_open_store(api->store, &s, err);
	if (r >= 0)
		r = read_pair(s, time_ns, &rates, err);
	stream_close(s);
	if (r < 0)
		return r == -ERANGE ? -ENODATA : r;
	json_init(&j, &a->body);
	view_cores_json(&j, &api->envelope, &rates);
	buf_add_char(&a->body, '\n');
	return 0;
}

/* What a verdict is asked about when nobody says: around the last critical event, else the last
 * minutes. */
static void verdict_window(struct api *api, struct api_window *w)
{
	const uint64_t before_ns = 300 * NS_PER_S, after_ns = 60 * NS_PER_S;
	uint64_t event_ns = 0;

	pthread_mutex_lock(&api->lock);
	vec_foreach (&api->events, e)
		if (e->severity == EVENT_CRIT)
			event_ns = e->time_ns;
	pthread_mutex_unlock(&api->lock);
	if (event_ns)
		w->to_ns = MIN_OF(w->to_ns, event_ns + after_ns);
	if (w->to_ns > w->from_ns + before_ns + after_ns)
		w->from_ns = w->to_ns - before_ns - after_ns;
}

int api_why(struct api *api, const struct http_request *q, struct http_answer *a, struct err *err)
{
	struct api_window w;
	struct json j;
	int r = api_window(api, q->query, &w, err);

	if (r >= 0 && !api->extra.why)
		r = err_set(err, -ENOENT, "this server gives no verdicts");
	if (r < 0)
		return r;
	if (!http_query_get(q->query, "from"))
		verdict_window(api, &w);
	api_begin(api, &j, &a->body, "why");
	json_u64(&j, "from_ns", w.from_ns);
	json_u64(&j, "to_ns", w.to_ns);
	r = api->extra.why(api->store, w.from_ns, w.to_ns, &j, err);
	api_end(&j);
	return r < 0 ? r : 0;
}

int api_units(struct api *api, const struct http_request *q, struct http_answer *a, struct err *err)
{
	struct api_window w;
	struct json j;
	int r = api_window(api, q->query, &w, err);

	if (r >= 0 && !api->extra.units)
		r = err_set(err, -ENOENT, "this server knows no units");
	if (r < 0)
		return r;
	json_init(&j, &a->body);
	r = api->extra.units(api->store, w.from_ns, w.to_ns, &api->envelope, &j, err);
	buf_add_char(&a->body, '\n');
	return r < 0 ? r : 0;
}

/* Without a census the counts of the last tick are all there is; no owner is known then. */
static void summary_of_tick(const struct tick *t, struct census_summary *ret)
{
	const struct rec_cgroups *c;

	if (!t->rows[REC_CGROUPS].len)
		return;
	c = TICK_ROW(t, REC_CGROUPS, rec_cgroups, 0);
	ret->time_ns = t->real_ns;
	ret->method = CENSUS_BY_PROC_CGROUPS;
	if (c->have & REC_CGROUPS_TRACKED) {
		ret->tracked = c->tracked;
		ret->have |= CENSUS_TRACKED;
	}
	if (c->have & REC_CGROUPS_LIVE) {
		ret->live = c->live;
		ret->have |= CENSUS_LIVE;
	}
	if (c->have & REC_CGROUPS_DYING) {
		ret->dying = c->dying;
		ret->have |= CENSUS_DYING;
	}
}

int api_zombies(struct api *api, const struct http_request *q, struct http_answer *a,
		struct err *err)
{
	AUTO_CENSUS_SUMMARY struct census_summary summary = { 0 };
	AUTO_UNKNOWNS struct unknowns unknown = { 0 };
	struct view_zombies view = { .summary = &summary };
	struct json j;

	(void)q, (void)err;
	pthread_mutex_lock(&api->lock);
	if (!api->census.len ||
	    census_summary_decode(api->census.data, api->census.len, &summary) < 0) {
		summary_of_tick(&api->last, &summary);
		unknowns_add(&unknown, "owners",
			     "the recording holds no census; it takes BPF, as root");
	}
	pthread_mutex_unlock(&api->lock);
	api_begin(api, &j, &a->body, "zombies");
	json_time(&j, "census", summary.time_ns);
	view_zombies_json(&j, &view);
	unknowns_json(&j, &unknown);
	api_end(&j);
	return 0;
}

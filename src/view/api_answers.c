/* Answers that other commands give too: one second of all cores, units, why. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "agents.h"
#include "api.h"
#include "audit.h"
#include "auto.h"
#include "collect.h"
#include "diagnosis.h"
#include "rates.h"
#include "rec_units.h"
#include "timefmt.h"
#include "view_audit.h"
#include "view_cores.h"
#include "view_why.h"

/* The first pair of ticks of a window. 1 = *ret is its rates, 0 = none. */
static int read_first_pair(struct stream *s, uint64_t from_ns, uint64_t to_ns, struct rates *ret,
			   struct err *err)
{
	AUTO_TICK struct tick before = { 0 };
	struct stream_item item;
	bool have = false;
	int r = stream_seek(s, from_ns, to_ns, STREAM_TICKS | STREAM_LEAD, err);

	while (r >= 0 && (r = stream_next(s, &item, err)) > 0) {
		if (have)
			return rates_compute(&before, item.tick, ret) < 0
				       ? err_set(err, -ENODATA,
						 "this second cannot be compared with the one "
						 "before")
				       : 1;
		if (tick_copy(&before, item.tick) < 0)
			return err_set(err, -ENOMEM, "out of memory");
		have = true;
	}
	return r;
}

/* The second that begins at `time`; where ticks were missed, what there is next. */
static int read_pair(struct stream *s, uint64_t time_ns, struct rates *ret, struct err *err)
{
	uint64_t ahead = MAX_OF(10 * NS_PER_S, 2 * stream_interval(s, time_ns));
	int r = read_first_pair(s, time_ns, time_ns + NS_PER_S, ret, err);

	if (r == 0)
		r = read_first_pair(s, time_ns, time_ns + ahead, ret, err);
	if (r == 0)
		return err_set(err, -ENODATA, "this second was not recorded");
	return r < 0 ? r : 0;
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
		r = api_stream(api, &s, err);
	if (r >= 0) {
		r = read_pair(s, time_ns, &rates, err);
		api_stream_close(api, s);
	}
	if (r < 0)
		return r == -ERANGE ? -ENODATA : r;
	json_init(&j, &a->body);
	view_cores_json(&j, &api->envelope, &rates);
	buf_add_char(&a->body, '\n');
	return 0;
}

/* What a verdict is asked about when nobody says: around the last critical event, else the last
 * minutes. The kernel's log reaches further back than the recording: what nothing else was recorded
 * of is passed over. */
static void verdict_window(struct api *api, struct api_window *w)
{
	const uint64_t before_ns = 300 * NS_PER_S, after_ns = 60 * NS_PER_S;
	uint64_t event_ns = 0;

	pthread_mutex_lock(&api->lock);
	vec_foreach (&api->events, e)
		if (e->severity == EVENT_CRIT && e->time_ns >= w->from_ns && e->time_ns < w->to_ns)
			event_ns = e->time_ns;
	pthread_mutex_unlock(&api->lock);
	if (event_ns)
		w->to_ns = MIN_OF(w->to_ns, event_ns + after_ns);
	if (w->to_ns > w->from_ns + before_ns + after_ns)
		w->from_ns = w->to_ns - before_ns - after_ns;
}

/* As `zscope why --from --to` on the recording. The diagnosis points into the facts. */
static int diagnose(struct api *api, const struct api_window *w, struct collected *facts,
		    struct diagnosis *ret, struct err *err)
{
	struct collect_window cw = { .from_ns = w->from_ns,
				     .to_ns = w->to_ns,
				     .history_dir = api->store };
	int r = api_stream(api, &cw.stream, err);

	if (r < 0)
		return r;
	r = collect_facts(&cw, facts, err);
	api_stream_close(api, cw.stream);
	if (r >= 0)
		r = diagnosis_make(&facts->facts, NULL, ret, err);
	if (r < 0)
		return r;
	vec_foreach (&facts->unknown.list, u)
		unknowns_add(&ret->unknown, u->what, "%s", u->why);
	return 0;
}

int api_why(struct api *api, const struct http_request *q, struct http_answer *a, struct err *err)
{
	AUTO_COLLECTED struct collected facts = { 0 };
	AUTO_DIAGNOSIS struct diagnosis d = { 0 };
	struct api_window w;
	struct json j;
	int r = api_window(api, q->query, &w, err);

	if (r < 0)
		return r;
	if (!http_query_get(q->query, "from"))
		verdict_window(api, &w);
	r = diagnose(api, &w, &facts, &d, err);
	if (r < 0)
		return r;
	api_begin(api, &j, &a->body, "why");
	json_u64(&j, "from_ns", w.from_ns);
	json_u64(&j, "to_ns", w.to_ns);
	view_why_json(&j, &d);
	api_end(&j);
	return 0;
}

/* As `zscope audit`, on the units that the recording holds. */
int api_units(struct api *api, const struct http_request *q, struct http_answer *a, struct err *err)
{
	AUTO_REC_UNITS struct rec_unit_set set = { 0 };
	AUTO_AUDIT struct audit audit = { 0 };
	AUTO_BUF struct buf bytes = { 0 };
	struct agents agents = { 0 };
	struct collect_window cw = { 0 };
	struct api_window w;
	struct json j;
	int r = api_window(api, q->query, &w, err);

	if (r >= 0)
		r = api_stream(api, &cw.stream, err);
	if (r < 0)
		return r;
	cw.from_ns = w.from_ns;
	cw.to_ns = w.to_ns;
	r = collect_last_frame(&cw, FRAME_UNITS, &bytes, err);
	api_stream_close(api, cw.stream);
	if (r == -ENODATA)
		return err_set(
			err, r,
			"no units were recorded: the recorder asks systemd and the container "
			"engine for them, and an event tells when it could not");
	if (r >= 0 && rec_units_decode(bytes.data, bytes.len, &set) < 0)
		r = err_set(err, -EBADMSG, "the recorded units cannot be read");
	if (r >= 0)
		r = agents_builtin(&agents, err);
	if (r < 0)
		return r;
	struct audit_input input = { .set = &set, .agents = &agents, .now_ns = w.to_ns };
	r = audit_run(&input, &audit, err);
	if (r >= 0) {
		json_init(&j, &a->body);
		view_audit_json(&j, &audit, &set.unknowns, &api->envelope, w.to_ns);
		buf_add_char(&a->body, '\n');
	}
	agents_free(&agents);
	return r < 0 ? r : 0;
}

/* What the follower keeps, as JSON: status, overview, cores, events. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "api.h"
#include "auto.h"
#include "timefmt.h"

static void json_since(struct json *j, const char *key, uint64_t ns)
{
	if (ns)
		json_u64(j, key, ns);
}

int api_status(struct api *api, const struct http_request *q, struct http_answer *a,
	       struct err *err)
{
	struct json j;

	(void)q, (void)err;
	api_begin(api, &j, &a->body, "status");
	json_str(&j, "version", ZSCOPE_VERSION);
	pthread_mutex_lock(&api->lock);
	if (!api->empty && api->to_ns) {
		json_time(&j, "from", api->from_ns);
		json_time(&j, "to", api->to_ns);
	}
	json_bool(&j, "live", !api->gone.code && api->to_ns + 5 * NS_PER_S > clock_real_ns());
	if (api->timeline.cpus)
		json_u64(&j, "cpus", api->timeline.cpus);
	json_u64(&j, "events", api->events.len);
	if (api->dropped_events)
		json_u64(&j, "dropped_events", api->dropped_events);
	if (api->gone.code)
		json_str(&j, "gone", api->gone.text);
	json_array(&j, "losses");
	vec_foreach (&api->losses, l) {
		json_object(&j, NULL);
		json_since(&j, "from_ns", l->from_ns);
		json_since(&j, "to_ns", l->to_ns);
		json_str(&j, "why", l->why);
		json_end_object(&j);
	}
	json_end_array(&j);
	pthread_mutex_unlock(&api->lock);
	api_end(&j);
	return 0;
}

void api_grid(const struct api_window *w, uint64_t most, uint64_t *ret_from_s, uint64_t *ret_step_s,
	      size_t *ret_n)
{
	uint64_t from = w->from_ns / NS_PER_S;
	uint64_t to = (w->to_ns + NS_PER_S - 1) / NS_PER_S;
	uint64_t step = MAX_OF((to - from + most - 1) / most, UINT64_C(1));

	*ret_from_s = from;
	*ret_step_s = step;
	*ret_n = (size_t)((to - from + step - 1) / step);
}

static void json_values(struct json *j, const char *key, const double *values, size_t n)
{
	json_array(j, key);
	for (size_t i = 0; i < n; i++) {
		if (isnan(values[i]))
			json_null(j, NULL);
		else if (values[i] == floor(values[i]))
			json_u64(j, NULL, (uint64_t)values[i]);
		else
			json_f64(j, NULL, values[i], 2);
	}
	json_end_array(j);
}

int api_overview(struct api *api, const struct http_request *q, struct http_answer *a,
		 struct err *err)
{
	struct api_window w;
	uint64_t points, from_s, step_s;
	size_t n;
	struct json j;
	int r = api_window(api, q->query, &w, err);

	if (r >= 0)
		r = http_query_u64(q->query, "points", 800, 10, 4000, &points, err);
	if (r < 0)
		return r;
	api_grid(&w, points, &from_s, &step_s, &n);
	AUTO_FREE double *values = calloc(n, sizeof(*values));
	if (!values)
		return err_set(err, -ENOMEM, "out of memory");
	api_begin(api, &j, &a->body, "overview");
	json_time(&j, "from", from_s * NS_PER_S);
	json_time(&j, "to", (from_s + n * step_s) * NS_PER_S);
	json_u64(&j, "step_ns", step_s * NS_PER_S);
	json_object(&j, "series");
	pthread_mutex_lock(&api->lock);
	for (int s = 0; s < TIMELINE_SERIES_END; s++) {
		timeline_series_read(&api->timeline, s, from_s, step_s, n, values);
		json_values(&j, timeline_series_name(s), values, n);
	}
	pthread_mutex_unlock(&api->lock);
	json_end_object(&j);
	api_end(&j);
	return 0;
}

static void base64(struct buf *out, const uint8_t *bytes, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		uint32_t v = (uint32_t)bytes[i] << 16;
		if (i + 1 < len)
			v |= (uint32_t)bytes[i + 1] << 8;
		if (i + 2 < len)
			v |= bytes[i + 2];
		buf_add_char(out, digits[v >> 18]);
		buf_add_char(out, digits[v >> 12 & 63]);
		buf_add_char(out, i + 1 < len ? digits[v >> 6 & 63] : '=');
		buf_add_char(out, i + 2 < len ? digits[v & 63] : '=');
	}
}

static int take_mode(const struct http_query *q, enum timeline_mode *ret, struct err *err)
{
	const char *text = http_query_get(q, "mode");

	*ret = TIMELINE_BUSY;
	if (!text)
		return 0;
	for (int m = 0; m < TIMELINE_MODES; m++)
		if (strcmp(text, timeline_mode_name(m)) == 0) {
			*ret = m;
			return 0;
		}
	return err_set(err, -EINVAL, "mode must be busy, sys, soft or steal");
}

static void write_matrix(struct api *api, struct json *j, enum timeline_mode mode, uint64_t from_s,
			 uint64_t step_s, size_t n, uint8_t *row)
{
	AUTO_BUF struct buf text = { 0 };

	json_array(j, "cpus");
	for (size_t cpu = 0; cpu < api->timeline.cpus; cpu++)
		json_u64(j, NULL, cpu);
	json_end_array(j);
	json_str(j, "encoding", "base64: one byte per column, percent, 255 = unknown");
	json_array(j, "rows");
	for (size_t cpu = 0; cpu < api->timeline.cpus; cpu++) {
		timeline_core_read(&api->timeline, mode, cpu, from_s, step_s, n, row);
		buf_clear(&text);
		base64(&text, row, n);
		json_str(j, NULL, buf_str(&text));
	}
	json_end_array(j);
}

int api_cores(struct api *api, const struct http_request *q, struct http_answer *a, struct err *err)
{
	struct api_window w;
	enum timeline_mode mode;
	uint64_t cols, from_s, step_s;
	size_t n;
	struct json j;
	int r = api_window(api, q->query, &w, err);

	if (r >= 0)
		r = http_query_u64(q->query, "cols", 800, 1, 4000, &cols, err);
	if (r >= 0)
		r = take_mode(q->query, &mode, err);
	if (r < 0)
		return r;
	api_grid(&w, cols, &from_s, &step_s, &n);
	AUTO_FREE uint8_t *row = calloc(n, 1);
	if (!row)
		return err_set(err, -ENOMEM, "out of memory");
	api_begin(api, &j, &a->body, "cores-map");
	json_u64(&j, "from_ns", from_s * NS_PER_S);
	json_u64(&j, "step_ns", step_s * NS_PER_S);
	json_u64(&j, "cols", n);
	json_str(&j, "mode", timeline_mode_name(mode));
	pthread_mutex_lock(&api->lock);
	write_matrix(api, &j, mode, from_s, step_s, n, row);
	pthread_mutex_unlock(&api->lock);
	api_end(&j);
	return 0;
}

static bool event_wanted(const struct rec_event *e, const struct http_query *q)
{
	const char *source = http_query_get(q, "source"), *id = http_query_get(q, "id");
	const char *key = http_query_get(q, "event");
	char own[16];

	if (source && strcmp(source, event_source_name(e->source)) != 0)
		return false;
	if (id && strcmp(id, e->id) != 0)
		return false;
	if (!key)
		return true;
	rec_event_key(e, own);
	return strcmp(key, own) == 0;
}

int api_events(struct api *api, const struct http_request *q, struct http_answer *a,
	       struct err *err)
{
	struct api_window w;
	uint64_t limit;
	size_t total = 0, skip;
	struct json j;
	int r = api_window(api, q->query, &w, err);

	if (r >= 0)
		r = http_query_u64(q->query, "limit", 1000, 1, API_MOST_EVENTS, &limit, err);
	if (r < 0)
		return r;
	/* what the kernel's log told of the time before, an event of the last second, or a note of
	 * later, has its place too */
	if (!http_query_get(q->query, "from"))
		w.from_ns = 0;
	w.to_ns = http_query_get(q->query, "to") ? w.to_ns + NS_PER_S : UINT64_MAX;
	api_begin(api, &j, &a->body, "events");
	pthread_mutex_lock(&api->lock);
	vec_foreach (&api->events, e)
		total += e->time_ns >= w.from_ns && e->time_ns < w.to_ns &&
			 event_wanted(e, q->query);
	json_u64(&j, "total", total);
	skip = total > limit ? total - limit : 0; /* the newest are shown */
	json_array(&j, "events");
	vec_foreach (&api->events, e) {
		if (e->time_ns < w.from_ns || e->time_ns >= w.to_ns || !event_wanted(e, q->query))
			continue;
		if (skip) {
			skip--;
			continue;
		}
		json_object(&j, NULL);
		rec_event_json(&j, e);
		json_end_object(&j);
	}
	json_end_array(&j);
	pthread_mutex_unlock(&api->lock);
	api_end(&j);
	return 0;
}

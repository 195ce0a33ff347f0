#include "api.h"

#include <errno.h>
#include <string.h>

#include "auto.h"
#include "text.h"
#include "timefmt.h"

/* clang-format off */
static const struct {
	const char *path;
	int (*run)(struct api *api, const struct http_request *q, struct http_answer *a,
		   struct err *err);
	bool needs_recording; /* 410 while the store is gone, 404 while it is empty */
} endpoints[] = {
	{ "/api/v1/cores", api_cores, true },    { "/api/v1/cores/at", api_cores_at, true },
	{ "/api/v1/diff", api_diff, true },
	{ "/api/v1/events", api_events, true },  { "/api/v1/flame", api_flame, true },
	{ "/api/v1/heat", api_heat, true },      { "/api/v1/overview", api_overview, true },
	{ "/api/v1/resets", api_resets, true },
	{ "/api/v1/status", api_status, false }, { "/api/v1/units", api_units, true },
	{ "/api/v1/why", api_why, true },        { "/api/v1/zombies", api_zombies, true },
	{ "/api/v1/zombies/now", api_zombies_now, true },
	{ "/metrics", api_metrics, false },
};
/* clang-format on */

static void wait_loaded(struct api *api)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10;
	while (!api->loaded && !api->stopping)
		if (pthread_cond_timedwait(&api->wake, &api->lock, &until) != 0)
			return;
}

static int check_recording(struct api *api, struct err *err)
{
	int r = 0;

	pthread_mutex_lock(&api->lock);
	wait_loaded(api);
	if (api->gone.code < 0)
		r = err_set(err, -ESTALE, "%s", api->gone.text);
	else if (!api->loaded)
		r = err_set(err, -EBUSY, "the recording is still being read");
	else if (api->empty)
		r = err_set(err, -ENODATA, "the recording is empty");
	pthread_mutex_unlock(&api->lock);
	return r;
}

int api_handle(void *arg, const struct http_request *request, struct http_answer *answer,
	       struct err *err)
{
	struct api *api = arg;

	for (size_t i = 0; i < ARRAY_LEN(endpoints); i++) {
		int r = 0;

		if (strcmp(request->query->path, endpoints[i].path) != 0)
			continue;
		if (endpoints[i].needs_recording)
			r = check_recording(api, err);
		return r < 0 ? r : endpoints[i].run(api, request, answer, err);
	}
	return err_set(err, -ENOENT, "nothing is served at %s", request->query->path);
}

int api_ask(struct api *api, const char *target, struct buf *out, struct err *err)
{
	struct http_query *query = calloc(1, sizeof(*query));
	struct http_request request = { .query = query };
	struct http_answer answer = { 0 };
	AUTO_BUF struct buf path = { 0 };
	int r;

	buf_addf(&path, "/api/v1/%s", target);
	if (!query || path.failed)
		r = err_set(err, -ENOMEM, "out of memory");
	else
		r = http_query_parse(buf_str(&path), query, err);
	if (r >= 0)
		r = api_handle(api, &request, &answer, err);
	if (r >= 0)
		buf_add(out, answer.body.data, answer.body.len);
	buf_free(&answer.body);
	free(query);
	return r < 0 ? r : 0;
}

int api_window(struct api *api, const struct http_query *q, struct api_window *ret, struct err *err)
{
	char a[TIMEFMT_MAX], b[TIMEFMT_MAX];
	uint64_t from, to, span_from, span_to;
	int r;

	pthread_mutex_lock(&api->lock);
	span_from = api->from_ns;
	span_to = api->to_ns;
	pthread_mutex_unlock(&api->lock);
	r = http_query_time(q, "from", span_from, clock_real_ns(), &from, err);
	if (r >= 0)
		r = http_query_time(q, "to", span_to, clock_real_ns(), &to, err);
	if (r < 0)
		return r;
	if (to <= from)
		return err_set(err, -EINVAL, "the window ends before it begins");
	if (from >= span_to || to <= span_from)
		return err_set(err, -ENODATA, "the recording holds %s to %s, not this window",
			       timefmt_local(a, span_from), timefmt_local(b, span_to));
	ret->from_ns = MAX_OF(from, span_from);
	ret->to_ns = MIN_OF(to, span_to);
	return 0;
}

void api_begin(struct api *api, struct json *j, struct buf *out, const char *command)
{
	struct envelope envelope;

	pthread_mutex_lock(&api->lock);
	envelope = api->envelope;
	pthread_mutex_unlock(&api->lock);
	json_init(j, out);
	json_object(j, NULL);
	envelope_json(j, &envelope, command, clock_real_ns());
}

void api_end(struct json *j)
{
	json_end_object(j);
	buf_add_char(j->out, '\n');
}

int api_deep(struct api *api, struct err *err)
{
	struct timespec until;
	int r;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 5;
	pthread_mutex_lock(&api->lock);
	while (api->deep >= API_MOST_DEEP &&
	       pthread_cond_timedwait(&api->wake, &api->lock, &until) == 0)
		;
	r = api->deep < API_MOST_DEEP ? 0 : -EBUSY;
	if (r == 0)
		api->deep++;
	pthread_mutex_unlock(&api->lock);
	return r < 0 ? err_set(err, r, "too many questions are under way") : 0;
}

void api_deep_end(struct api *api)
{
	pthread_mutex_lock(&api->lock);
	api->deep--;
	pthread_cond_broadcast(&api->wake);
	pthread_mutex_unlock(&api->lock);
}

int api_reader(struct api *api, struct store_reader **ret, struct err *err)
{
	int r = api_deep(api, err);

	if (r < 0)
		return r;
	r = store_reader_open(api->store, ret, err);
	if (r < 0)
		api_deep_end(api);
	return r == -ENOENT ? -ESTALE : r;
}

void api_reader_close(struct api *api, struct store_reader *r)
{
	store_reader_close(r);
	api_deep_end(api);
}

int api_stream(struct api *api, struct stream **ret, struct err *err)
{
	int r = api_deep(api, err);

	if (r < 0)
		return r;
	r = stream_open_store(api->store, ret, err);
	if (r < 0)
		api_deep_end(api);
	return r == -ENOENT ? -ESTALE : r;
}

void api_stream_close(struct api *api, struct stream *s)
{
	stream_close(s);
	api_deep_end(api);
}

#include "api_profile.h"

#include <errno.h>
#include <math.h>

#include "auto.h"
#include "timefmt.h"

enum {
	READ_MOST_SAMPLES = 5000000, /* of one answer: of more, one second in N is read, and said */
	READ_MOST_SECONDS = 14400,
};

int api_take_filter(const struct http_query *q, struct flame_filter *f, struct err *err)
{
	uint64_t cpu;
	int r = http_query_u64(q, "cpu", UINT32_MAX, 0, UINT32_MAX - 1, &cpu, err);

	if (r < 0)
		return r;
	*f = (struct flame_filter){ .comm = http_query_get(q, "comm"),
				    .unit = http_query_get(q, "unit") };
	f->by_cpu = http_query_get(q, "cpu") != NULL;
	f->cpu = (uint32_t)cpu;
	return 0;
}

bool api_filter_any(const struct flame_filter *f)
{
	return f->by_cpu || f->comm || f->unit;
}

/* How many samples the window may hold: by the busy time of all cores, which the follower knows. */
static uint64_t expected_samples(struct api *api, uint64_t from_s, size_t seconds)
{
	AUTO_FREE double *busy = calloc(seconds, sizeof(*busy));
	double sum = 0;
	size_t cpus;

	if (!busy)
		return 0;
	pthread_mutex_lock(&api->lock);
	timeline_series_read(&api->timeline, TIMELINE_HOST_BUSY, from_s, 1, seconds, busy);
	cpus = api->timeline.cpus;
	pthread_mutex_unlock(&api->lock);
	for (size_t i = 0; i < seconds; i++)
		sum += isnan(busy[i]) ? 0 : busy[i] / 100;
	return (uint64_t)(sum * (double)cpus * 97);
}

/* One second in so many is read. */
unsigned api_seconds_step(struct api *api, const struct api_window *w)
{
	uint64_t from_s = w->from_ns / NS_PER_S;
	size_t seconds = (w->to_ns + NS_PER_S - 1) / NS_PER_S - from_s;
	uint64_t samples = expected_samples(api, from_s, seconds);

	return (unsigned)MAX_OF(samples / READ_MOST_SAMPLES, seconds / READ_MOST_SECONDS) + 1;
}

/* The samples of a window, given to chunk() as they are read. No profile in it is an empty one. */
int api_read_chunks(struct api *api, const struct api_window *w,
		    struct profile_read_options *options, struct profile *ret,
		    struct unknowns *unknown, struct err *err)
{
	struct store_reader *reader = NULL;
	int r = api_reader(api, &reader, err);

	if (r < 0)
		return r;
	options->every_s = api_seconds_step(api, w);
	r = profile_read_chunks(reader, w->from_ns, w->to_ns, options, ret, err);
	if (r == -ENODATA) {
		unknowns_add(unknown, "profile", "%s", err->text);
		r = 0;
	}
	api_reader_close(api, reader);
	return r;
}

void api_write_step(struct json *j, unsigned step)
{
	if (step > 1)
		json_u64(j, "one_second_in", step);
}

/* /metrics: formatted once per second of the recording, however often it is scraped. */
#include <errno.h>
#include <string.h>

#include "api.h"
#include "auto.h"
#include "census_summary.h"
#include "metrics.h"

/* Zombies by owner, from the newest census. The names live in *summary. */
static size_t owners_of(struct api *api, struct census_summary *summary, struct metrics_owner *ret,
			size_t most)
{
	size_t n = 0;

	if (!api->census.len ||
	    census_summary_decode(api->census.data, api->census.len, summary) < 0)
		return 0;
	vec_foreach (&summary->groups, g)
		if (n < most)
			ret[n++] = (struct metrics_owner){ .owner = g->owner,
							   .kind = owner_kind_name(g->kind),
							   .count = g->count,
							   .bytes = g->bytes };
	return n;
}

enum { MOST_OWNERS = 256 };

/* The lock is held. */
static struct metrics_input input_of(struct api *api, struct census_summary *summary,
				     struct metrics_owner owners[MOST_OWNERS])
{
	return (struct metrics_input){
		.totals = &api->totals,
		.last = &api->last,
		.owners = owners,
		.n_owners = owners_of(api, summary, owners, MOST_OWNERS),
		.to_ns = api->empty ? 0 : api->to_ns,
		.readable = api->gone.code == 0,
		.losses = api->losses.len,
	};
}

int api_metrics(struct api *api, const struct http_request *q, struct http_answer *a,
		struct err *err)
{
	bool open = http_accepts(q->accept, "application/openmetrics-text");

	(void)err;
	a->type = open ? METRICS_TYPE_OPEN : METRICS_TYPE_PLAIN;
	pthread_mutex_lock(&api->lock);
	if (!api->metrics[open].len || api->metrics_at != api->to_ns || api->gone.code) {
		AUTO_CENSUS_SUMMARY struct census_summary summary = { 0 };
		struct metrics_owner owners[MOST_OWNERS];
		struct metrics_input in = input_of(api, &summary, owners);
		if (api->metrics_at != api->to_ns)
			buf_clear(&api->metrics[!open]);
		buf_clear(&api->metrics[open]);
		metrics_write(&api->metrics[open], &in, open);
		api->metrics_at = api->to_ns;
	}
	buf_add(&a->body, api->metrics[open].data, api->metrics[open].len);
	pthread_mutex_unlock(&api->lock);
	return 0;
}

void api_metrics_json(struct api *api, struct json *j)
{
	AUTO_CENSUS_SUMMARY struct census_summary summary = { 0 };
	struct metrics_owner owners[MOST_OWNERS];

	pthread_mutex_lock(&api->lock);
	struct metrics_input in = input_of(api, &summary, owners);
	metrics_json(j, &in);
	pthread_mutex_unlock(&api->lock);
}

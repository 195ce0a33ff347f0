/* /metrics: formatted once per second of the recording, however often it is scraped. */
#include <errno.h>
#include <string.h>

#include "api.h"
#include "auto.h"
#include "metrics.h"

int api_metrics(struct api *api, const struct http_request *q, struct http_answer *a,
		struct err *err)
{
	bool open = http_accepts(q->accept, "application/openmetrics-text");

	(void)err;
	a->type = open ? METRICS_TYPE_OPEN : METRICS_TYPE_PLAIN;
	pthread_mutex_lock(&api->lock);
	struct metrics_input in = {
		.totals = &api->totals,
		.last = &api->last,
		.to_ns = api->empty ? 0 : api->to_ns,
		.readable = api->gone.code == 0,
		.losses = api->losses.len,
	};
	if (!api->metrics[open].len || api->metrics_at != api->to_ns || api->gone.code) {
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

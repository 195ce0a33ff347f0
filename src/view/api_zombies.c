/* Zombies: from the censuses of the recording, and, where the server may look, from the host now.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "api.h"
#include "around.h"
#include "auto.h"
#include "census_summary.h"
#include "offer.h"
#include "timefmt.h"
#include "view_around.h"
#include "view_zombies.h"
#include "zombies.h"

enum { NOW_MOST_LISTED = 1000, NOW_MOST_FILES = 200 };

/* Growth is a matter of hours: a day before the end is looked at, whatever the window. */
static const uint64_t trend_ns = 86400 * NS_PER_S;

/* Ticks may lie a minute apart (record --interval). */
static const uint64_t look_back_s = 61;

/* Without a census the counts of the last tick are all there is; no owner is known then. */
static void summary_of_tick(struct api *api, uint64_t to_ns, struct census_summary *ret)
{
	const struct {
		enum timeline_series series;
		uint64_t *value;
		enum census_summary_have bit;
	} counts[] = {
		{ TIMELINE_TRACKED, &ret->tracked, CENSUS_TRACKED },
		{ TIMELINE_LIVE, &ret->live, CENSUS_LIVE },
		{ TIMELINE_DYING, &ret->dying, CENSUS_DYING },
	};
	uint64_t last = (to_ns - 1) / NS_PER_S;

	ret->method = CENSUS_BY_PROC_CGROUPS;
	pthread_mutex_lock(&api->lock);
	for (uint64_t back = 0; !ret->have && back < MIN_OF(last, look_back_s); back++) {
		uint64_t second = last - back;
		ret->time_ns = second * NS_PER_S;
		for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
			double v;
			timeline_series_read(&api->timeline, counts[i].series, second, 1, 1, &v);
			if (isnan(v))
				continue;
			*counts[i].value = (uint64_t)v;
			ret->have |= counts[i].bit;
		}
	}
	pthread_mutex_unlock(&api->lock);
}

static int read_recorded(struct api *api, const struct http_query *q, struct census_history *h,
			 struct around *a, struct err *err)
{
	struct stream *stream = NULL;
	struct api_window w;
	int r = api_window(api, q, &w, err);

	if (r >= 0)
		r = api_stream(api, &stream, err);
	if (r < 0)
		return r;
	uint64_t day = w.to_ns > trend_ns ? w.to_ns - trend_ns : 0;
	struct around_window parts = {
		.trend_from_ns = day,
		.from_ns = http_query_get(q, "from") ? w.from_ns : day,
		.to_ns = w.to_ns,
	};
	r = around_read_recorded(stream, &parts, h, a, err);
	api_stream_close(api, stream);
	if (r >= 0 && !h->have_last)
		summary_of_tick(api, w.to_ns, &h->last);
	return r;
}

int api_zombies(struct api *api, const struct http_request *q, struct http_answer *a,
		struct err *err)
{
	AUTO(census_history_free) struct census_history history = { 0 };
	AUTO(around_free) struct around around = { 0 };
	AUTO_UNKNOWNS struct unknowns unknown = { 0 };
	struct census_summary *last = &history.last;
	struct json j;
	int r = read_recorded(api, q->query, &history, &around, err);

	if (r < 0)
		return r;
	struct view_zombies view = { .summary = last,
				     .churn = around.churn_known ? &around.churn : NULL };
	if (!(last->have & CENSUS_GROUPS))
		unknowns_add(&unknown, "owners",
			     "the recording holds no census; it takes BPF, as root");
	unknowns_add(&unknown, "files that hold them",
		     "a recorded census does not look into pages; zscope zombies --pins does, on "
		     "the host");
	around_add_unknown(&around, &history, &unknown);
	api_begin(api, &j, &a->body, "zombies");
	json_time(&j, "census", last->time_ns);
	view_zombies_json(&j, &view);
	view_around_json(&j, &around, last);
	json_array(&j, "zombies");
	view_zombie_names_json(&j, last);
	json_end_array(&j);
	unknowns_json(&j, &unknown);
	api_end(&j);
	return 0;
}

struct listing {
	struct json *j;
	struct buf *scratch;
	size_t listed;
};

static int list_one(void *arg, const struct zombie *z, const struct zombie_files *files)
{
	struct listing *l = arg;

	if (l->listed++ < NOW_MOST_LISTED)
		view_zombie_json(l->j, z, files, clock_real_ns(), l->scratch);
	return 0;
}

/* The host that is looked at must be the one that is recorded, and it must be now. */
static int may_look(struct api *api, struct err *err)
{
	char host[256] = "";
	bool same, live;

	gethostname(host, sizeof(host) - 1);
	pthread_mutex_lock(&api->lock);
	same = strcmp(host, api->envelope.host) == 0;
	live = api->to_ns + 5 * NS_PER_S > clock_real_ns();
	pthread_mutex_unlock(&api->lock);
	if (!same || !live)
		return err_set(err, -ENODATA,
			       "this recording is not of this host, now: its zombies cannot be "
			       "looked at");
	if (geteuid() != 0)
		return err_set(err, -ENODATA,
			       "the server has no right to look at the kernel's memory cgroups; "
			       "zscope zombies --list --pins does it as root");
	return 0;
}

int api_zombies_now(struct api *api, const struct http_request *q, struct http_answer *a,
		    struct err *err)
{
	AUTO_CENSUS_SUMMARY struct census_summary summary = { 0 };
	AUTO_UNKNOWNS struct unknowns unknown = { 0 };
	AUTO_ZOMBIE_FILES struct zombie_files files = { 0 };
	AUTO_ROOT struct root root = { .fd = -1 };
	struct census_totals totals = { 0 };
	struct offer offer;
	struct json j;
	AUTO_BUF struct buf scratch = { 0 };
	struct listing listing = { .j = &j, .scratch = &scratch };
	struct zombies_options want = { .want = CENSUS_WANT_PINS,
					.each = list_one,
					.arg = &listing };
	int r = may_look(api, err);

	(void)q;
	if (r >= 0)
		r = root_open(NULL, &root, err);
	if (r >= 0)
		r = api_deep(api, err);
	if (r < 0)
		return r;
	offer_read(&root, &offer);
	api_begin(api, &j, &a->body, "zombies");
	json_array(&j, "zombies");
	r = zombies_read(&root, &offer, &want, &files, &summary, &totals, &unknown, err);
	api_deep_end(api);
	json_end_array(&j);
	if (r < 0)
		return r;
	struct view_zombies view = { .offer = &offer,
				     .summary = &summary,
				     .totals = &totals,
				     .files = &files,
				     .most_files = NOW_MOST_FILES };
	json_u64(&j, "listed", MIN_OF(listing.listed, (size_t)NOW_MOST_LISTED));
	view_zombies_json(&j, &view);
	unknowns_json(&j, &unknown);
	api_end(&j);
	return 0;
}

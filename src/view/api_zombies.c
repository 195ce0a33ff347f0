/* Zombies: from the censuses of the recording, and, where the server may look, from the host now.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "api.h"
#include "auto.h"
#include "census_summary.h"
#include "collect.h"
#include "offer.h"
#include "rec_cgroups.h"
#include "timefmt.h"
#include "view_churn.h"
#include "view_zombies.h"
#include "zombies.h"

enum { NOW_MOST_LISTED = 1000, NOW_MOST_FILES = 200 };

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

/* The newest census, or with `to` the last one before it. */
static int read_census(struct api *api, const struct http_query *q, struct census_summary *ret,
		       struct err *err)
{
	AUTO_BUF struct buf bytes = { 0 };
	struct collect_window cw = { 0 };
	struct api_window w;
	int r = api_window(api, q, &w, err);

	if (r < 0)
		return r;
	if (http_query_get(q, "to")) {
		cw.from_ns = w.from_ns;
		cw.to_ns = w.to_ns;
		r = api_stream(api, &cw.stream, err);
		if (r < 0)
			return r;
		r = collect_last_frame(&cw, FRAME_CENSUS, &bytes, err);
		api_stream_close(api, cw.stream);
		if (r < 0 && r != -ENODATA)
			return r;
	}
	pthread_mutex_lock(&api->lock);
	if (!http_query_get(q, "to"))
		buf_add(&bytes, api->census.data, api->census.len);
	if (!bytes.len || census_summary_decode(bytes.data, bytes.len, ret) < 0)
		summary_of_tick(&api->last, ret);
	pthread_mutex_unlock(&api->lock);
	return 0;
}

static uint64_t footprint(struct api *api, const struct census_summary *s)
{
	struct zombie_verdict v;
	bool v1 = !(s->have & CENSUS_KERNEL_COUNT && s->kernel_counts_dying);

	if (zombie_verdict_of(api->envelope.kernel, v1, (unsigned)api->timeline.cpus, &v) < 0)
		return 0;
	return v.percpu_bytes + v.slab_bytes;
}

static void names_json(struct json *j, const struct census_summary *s)
{
	json_array(j, "zombies");
	for (size_t i = 0; i < s->n_names; i++) {
		const struct census_name *n = &s->names[i];
		struct zombie z = { .id = n->id,
				    .serial = n->serial,
				    .path = n->path,
				    .path_len = strlen(n->path),
				    .bytes = n->bytes,
				    .file_bytes = n->file_bytes };
		if (s->have & CENSUS_BYTES)
			z.have |= ZOMBIE_LRU;
		owner_parse(z.path, z.path_len, &z.owner);
		view_zombie_json(j, &z, NULL, 0);
	}
	json_end_array(j);
}

int api_zombies(struct api *api, const struct http_request *q, struct http_answer *a,
		struct err *err)
{
	AUTO_CENSUS_SUMMARY struct census_summary summary = { 0 };
	AUTO_UNKNOWNS struct unknowns unknown = { 0 };
	struct view_zombies view = { .summary = &summary };
	struct growth growth;
	struct json j;
	int r = read_census(api, q->query, &summary, err);

	if (r < 0)
		return r;
	if (!(summary.have & CENSUS_GROUPS))
		unknowns_add(&unknown, "owners",
			     "the recording holds no census; it takes BPF, as root");
	unknowns_add(&unknown, "files that hold them",
		     "a recorded census does not look into pages; zscope zombies --pins does, on "
		     "the host");
	pthread_mutex_lock(&api->lock);
	growth_compute(api->zombies.items, api->zombies.len, footprint(api, &summary), &growth);
	pthread_mutex_unlock(&api->lock);
	if (!growth.known)
		unknowns_add(&unknown, "growth",
			     "it takes three censuses over two minutes at the least");
	api_begin(api, &j, &a->body, "zombies");
	json_time(&j, "census", summary.time_ns);
	view_zombies_json(&j, &view);
	view_growth_json(&j, &growth);
	names_json(&j, &summary);
	unknowns_json(&j, &unknown);
	api_end(&j);
	return 0;
}

struct listing {
	struct json *j;
	size_t listed;
};

static int list_one(void *arg, const struct zombie *z, const struct zombie_files *files)
{
	struct listing *l = arg;

	if (l->listed++ < NOW_MOST_LISTED)
		view_zombie_json(l->j, z, files, clock_real_ns());
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
	struct listing listing = { .j = &j };
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

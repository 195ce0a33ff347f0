#include "zombies_around.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "auto.h"
#include "commands.h"
#include "envelope.h"
#include "offer.h"
#include "store_reader.h"
#include "text.h"
#include "unknowns.h"
#include "view_churn.h"
#include "view_reclaim.h"
#include "view_zombies.h"

void zombies_judge_history(const struct census_history *h, struct around *a)
{
	size_t n = h->list.len, m = 0;
	AUTO_FREE struct growth_point *points = calloc(n + 1, sizeof(*points));
	AUTO_FREE struct footprint_point *weights = calloc(n + 1, sizeof(*weights));
	uint64_t each = 0;

	if (!points || !weights)
		return;
	for (size_t i = 0; i < n; i++) {
		const struct census_history_point *p = &h->list.items[i];
		points[i] = (struct growth_point){ p->time_ns, p->dying };
		if (p->percpu_bytes && p->slab_bytes)
			weights[m++] = (struct footprint_point){ p->dying, p->percpu_bytes,
								 p->slab_bytes };
	}
	footprint_measure(weights, m, &a->footprint);
	if (a->footprint.known)
		each = a->footprint.percpu_bytes + a->footprint.slab_bytes;
	else if (a->verdict_known)
		each = a->verdict.percpu_bytes + a->verdict.slab_bytes;
	growth_compute(points, n, each, &a->growth);
	growth_ram(&a->growth, n ? points[n - 1].dying : 0, each, a->host_bytes);
}

static struct view_cost cost_of(const struct around *a, const struct census_summary *s)
{
	return (struct view_cost){
		.reads = a->cost_known ? &a->cost : NULL,
		.verdict = a->verdict_known ? &a->verdict : NULL,
		.footprint = &a->footprint,
		.reclaim = a->reclaim_known ? &a->reclaim : NULL,
		.percpu_bytes = s->percpu_bytes,
		.tracked = s->tracked,
		.dying = s->dying,
	};
}

void zombies_around_json(struct json *j, const struct around *a, const struct census_summary *s)
{
	struct view_cost cost = cost_of(a, s);

	if (a->churn_known)
		view_churn_json(j, &a->churn);
	view_growth_json(j, &a->growth);
	view_cost_json(j, &cost);
}

void zombies_around_text(struct invocation *in, const struct around *a,
			 const struct census_summary *s)
{
	struct view_cost cost = cost_of(a, s);

	if (a->churn_known)
		view_churn_text(stdout, &in->out, &a->churn);
	if (a->reclaim_known)
		view_reclaim_text(stdout, &in->out, &a->reclaim);
	view_growth_text(stdout, &a->growth);
	if (s->dying)
		view_cost_text(stdout, &cost);
}

void zombies_around_free(struct around *a)
{
	churn_summary_free(&a->churn);
	churn_summary_free(&a->past);
	reclaim_summary_free(&a->reclaim);
	cgroup_lives_free(&a->lives);
}

/* "cores=96" of the META lines; 0 = not said. */
static unsigned meta_cores(const char *meta)
{
	for (const char *p = meta; p && *p; p = text_next_line(p)) {
		const char *at = p + 6;
		uint64_t n;
		if (text_starts(p, "cores=") && text_take_u64(&at, &n) == 0 && n < 100000)
			return (unsigned)n;
	}
	return 0;
}

static int recorded_print(struct invocation *in, const struct census_history *h,
			  const struct around *a, const struct envelope *envelope,
			  const struct unknowns *unknowns)
{
	struct view_zombies view = { .summary = &h->last,
				     .churn = a->churn_known ? &a->churn : NULL };
	AUTO_BUF struct buf out = { 0 };
	struct json j;

	if (!in->common.json) {
		view_zombies_text(stdout, &in->out, &view);
		zombies_around_text(in, a, &h->last);
		vec_foreach (&unknowns->list, u)
			fprintf(stderr, "zscope: not known: %s: %s\n", u->what, u->why);
		return STATUS_OK;
	}
	json_init(&j, &out);
	json_object(&j, NULL);
	envelope_json(&j, envelope, "zombies", h->last.time_ns);
	json_bool(&j, "recorded", true);
	view_zombies_json(&j, &view);
	zombies_around_json(&j, a, &h->last);
	unknowns_json(&j, unknowns);
	json_end_object(&j);
	puts(buf_str(&out));
	return STATUS_OK;
}

static int recorded_read(struct invocation *in, const char *dir, struct census_history *ret,
			 struct err *err)
{
	struct store_reader *reader;
	uint64_t from = 0, to = 0;

	int r = store_reader_open(dir, &reader, err);
	if (r < 0)
		return r;
	r = store_reader_span(reader, &from, &to, err);
	if (r == 0)
		r = command_window(in, from, to, &from, &to, err);
	if (r == 0)
		r = census_history_window(reader, from, to, ret, err);
	store_reader_close(reader);
	if (r == 0 && !ret->have_last)
		r = err_set(err, -ENODATA, "%s: no census was recorded in this window", dir);
	return r;
}

int zombies_recorded(struct invocation *in, bool asks_live, struct err *err)
{
	AUTO(census_history_free) struct census_history h = { 0 };
	AUTO(zombies_around_free) struct around a = { 0 };
	AUTO_UNKNOWNS struct unknowns unknowns = { 0 };
	struct envelope envelope = { 0 };
	const char *dir = in->store;

	if (asks_live)
		return err_set(err, -EINVAL,
			       "a recording keeps sums by owner: --list, --pins, --below and "
			       "--watch ask the running kernel");
	int r = recorded_read(in, dir, &h, err);
	if (r < 0)
		return r;
	envelope_parse_meta(buf_str(&h.meta), h.meta.len, &envelope);
	/* only cgroup v2 has a file that counts the dying */
	if (h.last.have & CENSUS_KERNEL_COUNT)
		a.verdict_known = zombie_verdict_of(envelope.kernel, !h.last.kernel_counts_dying,
						    meta_cores(buf_str(&h.meta)), &a.verdict) == 0;
	zombies_judge_history(&h, &a);
	if (!a.growth.known)
		unknowns_add(&unknowns, "rate and forecast",
			     "the window has %zu censuses; it takes 3 over two minutes",
			     h.list.len);
	a.churn = h.churn;
	h.churn = (struct churn_summary){ 0 };
	a.churn_known = h.have_churn;
	a.reclaim = h.reclaim;
	h.reclaim = (struct reclaim_summary){ 0 };
	a.reclaim_known = h.have_reclaim;
	return recorded_print(in, &h, &a, &envelope, &unknowns);
}

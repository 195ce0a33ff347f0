#include "around.h"

#include "auto.h"
#include "meta_lines.h"
#include "rec_meminfo.h"
#include "text.h"
#include "timefmt.h"

/* Memory is read every second, but the last seconds may have been shed. */
static const uint64_t around_ram_ns = 60 * NS_PER_S;
enum { AROUND_MOST_CORES = 100000 };

void around_judge(const struct census_history *h, const struct census_summary *now,
		  struct around *a)
{
	struct growth_measured m = { .reclaim = h->reclaim_points.items,
				     .n_reclaim = h->reclaim_points.len };

	if (now->have & CENSUS_TRACKED)
		m.tracked = now->tracked;
	if (now->have & CENSUS_PART ? now->have & CENSUS_HOST_DYING : now->have & CENSUS_DYING)
		m.dying = now->have & CENSUS_PART ? now->host_dying : now->dying;
	if (a->cost_known && a->cost.have_numa_stat)
		m.read_ns = a->cost.numa_stat_ns;
	growth_judge(h->list.items, h->list.len, a->verdict_known ? &a->verdict : NULL, &m,
		     a->host_bytes, &a->footprint, &a->growth);
}

/* RAM of the host that recorded, as its last ticks tell; 0 = they do not. */
static uint64_t recorded_ram(struct stream *stream, uint64_t to_ns)
{
	uint64_t first, end, found = 0;
	struct stream_item item;

	if (stream_span(stream, &first, &end, NULL) < 0)
		return 0;
	end = MIN_OF(end, to_ns);
	first = MAX_OF(first, end > around_ram_ns ? end - around_ram_ns : 0);
	if (first >= end || stream_seek(stream, first, end, STREAM_TICKS, NULL) < 0)
		return 0;
	while (stream_next(stream, &item, NULL) > 0) {
		if (!item.tick || !item.tick->rows[REC_MEMINFO].len)
			continue;
		const struct rec_meminfo *m = TICK_ROW(item.tick, REC_MEMINFO, rec_meminfo, 0);
		if (m->have & REC_MEMINFO_TOTAL)
			found = m->total;
	}
	return found;
}

static bool recorded_verdict(const struct census_history *h, struct zombie_verdict *ret)
{
	char kernel[256] = "";
	const char *at = NULL;
	uint64_t cores = 0;
	size_t n = meta_lines_find(h->meta.data, h->meta.len, "kernel", &at);

	if (n)
		(void)text_copy_n(kernel, sizeof(kernel), at, n);
	(void)meta_lines_u64(h->meta.data, h->meta.len, "cores", &cores);
	if (cores > AROUND_MOST_CORES)
		cores = 0;
	return zombie_verdict_recorded(&h->last, kernel, (unsigned)cores, ret) == 0;
}

/* Reclaim and churn become the around's. */
static void take_window(struct census_history *h, struct around *a)
{
	a->churn = h->churn;
	a->churn_known = h->have_churn;
	h->churn = (struct churn_summary){ 0 };
	a->reclaim = h->reclaim;
	a->reclaim_known = h->have_reclaim;
	h->reclaim = (struct reclaim_summary){ 0 };
}

int around_read_recorded(struct stream *stream, const struct around_window *w,
			 struct census_history *ret_history, struct around *ret, struct err *err)
{
	AUTO(census_history_free) struct census_history part = { 0 };
	struct store_reader *reader = stream_store(stream);

	int r = census_history_window(reader, w->trend_from_ns, w->to_ns, ret_history, err);
	if (r == 0 && w->from_ns != w->trend_from_ns)
		r = census_history_window(reader, w->from_ns, w->to_ns, &part, err);
	if (r < 0)
		return r;
	take_window(w->from_ns != w->trend_from_ns ? &part : ret_history, ret);
	ret->verdict_known = recorded_verdict(ret_history, &ret->verdict);
	ret->host_bytes = recorded_ram(stream, w->to_ns);
	around_judge(ret_history, &ret_history->last, ret);
	return 0;
}

void around_add_unknown(const struct around *a, const struct census_history *h,
			struct unknowns *unknowns)
{
	if (!a->growth.known)
		unknowns_add(unknowns, "rate and forecast",
			     "the window has %zu censuses; it takes 3 over two minutes",
			     h->list.len);
	else if (a->growth.ram_bytes_per_day && !a->host_bytes)
		unknowns_add(unknowns, "when zombies will have taken a tenth of the host's RAM",
			     "the recording does not tell how much RAM the host has");
	if (!a->churn_known)
		unknowns_add(unknowns, "who makes them",
			     "no cgroup's coming and going was recorded in this window: the "
			     "recorder notes it once a minute, and needs tracepoints, as root");
	if (!a->reclaim_known)
		unknowns_add(unknowns, "what reclaim takes",
			     "it was not measured in this window: the recorder notes it once a "
			     "minute, and needs BPF, as root");
}

void around_free(struct around *a)
{
	churn_summary_free(&a->churn);
	churn_summary_free(&a->past);
	reclaim_summary_free(&a->reclaim);
	cgroup_lives_free(&a->lives);
}

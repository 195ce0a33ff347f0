#include "series.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "rates.h"
#include "rec_cgroups.h"
#include "rule.h"
#include "timefmt.h"

static const struct {
	const char *name, *unit;
	double sick_from, least_change;
} table[SERIES_END] = {
	[SERIES_RESTARTS] = { "unit restarts", "1/s", 12.0 / 3600, 1.0 / 3600 },
	[SERIES_CREATES] = { "containers created", "1/s", 0.5 / 60, 0.1 / 60 },
	[SERIES_ZOMBIES] = { "zombie memory cgroups", NULL, 1000, 10 },
	[SERIES_GROWTH] = { "new zombies", "1/s", 100.0 / 3600, 10.0 / 3600 },
	[SERIES_SATURATED] = { "saturated cores", NULL, 0.02, 0.02 },
	[SERIES_THROTTLED] = { "throttled periods", "%", 25, 5 },
	[SERIES_RECLAIM] = { "pages scanned by waiting tasks", "1/s", 1000, 200 },
	[SERIES_MEMORY] = { "waiting for memory", "%", 10, 2 },
	[SERIES_RESETS] = { "NIC resets", "1/s", 1e-9, 1e-9 },
};

static bool series_put(struct series *s, enum series_id id, double value)
{
	return vec_push(&s->values[id], value);
}

static double series_saturated(const struct rates *r)
{
	double n = 0;

	vec_foreach (&r->cpus, c)
		n += rate_cpu_busy(c) >= RATE_SATURATED_PERCENT &&
		     rate_cpu_kernel(c) >= RATE_SATURATED_PERCENT / 2;
	return n;
}

static double series_throttled(const struct rates *r)
{
	double worst = 0;

	vec_foreach (&r->quotas, q)
		worst = fmax(worst, q->throttled_percent);
	return worst;
}

static bool series_dying(const struct tick *t, double *ret)
{
	if (!t->rows[REC_CGROUPS].len)
		return false;
	const struct rec_cgroups *g = TICK_ROW(t, REC_CGROUPS, rec_cgroups, 0);
	*ret = (double)g->dying;
	return g->have & REC_CGROUPS_DYING;
}

static bool series_pair(struct series *s, const struct tick *before, const struct tick *after,
			const struct rates *r)
{
	double was, is;
	bool ok = true;

	if (series_dying(after, &is)) {
		ok &= series_put(s, SERIES_ZOMBIES, is);
		if (series_dying(before, &was))
			ok &= series_put(s, SERIES_GROWTH, fmax(0, is - was));
	}
	if (r->known & RATE_CORES)
		ok &= series_put(s, SERIES_SATURATED, series_saturated(r));
	if (r->quotas.len)
		ok &= series_put(s, SERIES_THROTTLED, series_throttled(r));
	if (r->known & RATE_RECLAIM)
		ok &= series_put(s, SERIES_RECLAIM, r->direct_pages);
	if (r->pressure[PRESSURE_MEMORY].some_known)
		ok &= series_put(s, SERIES_MEMORY, r->pressure[PRESSURE_MEMORY].some);
	return ok;
}

/* Events of one second: how many of each kind. */
struct series_second {
	uint64_t second;
	double count[SERIES_END];
};

static void series_event(struct series_second *now, const struct rec_event *e)
{
	if (strcmp(e->id, "unit-restart") == 0)
		now->count[SERIES_RESTARTS] += (double)e->count;
	else if (strcmp(e->id, "container-create") == 0)
		now->count[SERIES_CREATES] += (double)e->count;
	else if (strcmp(e->id, "net-driver-reset") == 0)
		now->count[SERIES_RESETS] += (double)e->count;
}

static bool series_flush(struct series *s, struct series_second *now)
{
	bool ok = series_put(s, SERIES_RESTARTS, now->count[SERIES_RESTARTS]) &&
		  series_put(s, SERIES_CREATES, now->count[SERIES_CREATES]) &&
		  series_put(s, SERIES_RESETS, now->count[SERIES_RESETS]);
	*now = (struct series_second){ .second = now->second };
	return ok;
}

int series_read(struct stream *stream, uint64_t from_ns, uint64_t to_ns, struct series *ret,
		struct err *err)
{
	AUTO_TICK struct tick before = { 0 };
	AUTO_RATES struct rates rates = { 0 };
	struct series s = { 0 };
	struct series_second now = { 0 };
	struct stream_item item;
	bool paired = false, ok = true;

	int r = stream_seek(stream, from_ns, to_ns, STREAM_TICKS | STREAM_EVENTS | STREAM_LEAD,
			    err);
	while (r >= 0 && ok && (r = stream_next(stream, &item, err)) > 0) {
		if (item.event && item.event->time_ns >= from_ns)
			series_event(&now, item.event);
		if (!item.tick)
			continue;
		if (paired && rates_compute(&before, item.tick, &rates) == 0)
			ok = series_pair(&s, &before, item.tick, &rates) && series_flush(&s, &now);
		r = tick_copy(&before, item.tick);
		paired = true;
	}
	if (r < 0 || !ok) {
		series_free(&s);
		return r < 0 ? r : err_set(err, -ENOMEM, "out of memory");
	}
	*ret = s;
	return 0;
}

void series_free(struct series *s)
{
	for (unsigned i = 0; i < SERIES_END; i++)
		vec_free(&s->values[i]);
}

void series_compare(const struct series *before, const struct series *after,
		    struct metric ret[SERIES_END])
{
	for (unsigned i = 0; i < SERIES_END; i++) {
		ret[i] = (struct metric){
			.name = table[i].name,
			.unit = table[i].unit,
			.sick_from = table[i].sick_from,
			.least_change = table[i].least_change,
			.before = before->values[i].items,
			.after = after->values[i].items,
			.n_before = before->values[i].len,
			.n_after = after->values[i].len,
		};
		compare_metric(&ret[i]);
	}
}

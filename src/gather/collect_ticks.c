/* Facts from ticks: saturated cores and who held them, zombies and their growth, reclaim, pressure,
 * quotas. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "captured.h"
#include "collect.h"
#include "collect_span.h"
#include "offer.h"
#include "owner.h"
#include "rates.h"
#include "rec_cgroups.h"
#include "rec_quota.h"
#include "rec_task.h"
#include "text.h"
#include "timefmt.h"

/* Shorter than this, growth is noise. */
static const uint64_t collect_history_ns = 600 * NS_PER_S;

/* One cgroup's throttling, second by second, beside direct reclaim, for the correlation. */
struct quota_sum {
	const char *cgroup;
	double throttled_percent; /* sum over seconds */
	uint64_t throttled_us;
	uint64_t n;
	double x, y, xx, yy, xy; /* x throttled, y reclaim */
};

struct sums {
	struct collect_spans spans;
	VEC(struct quota_sum) quotas;
	double direct, kswapd, psi_memory_some, psi_memory_full, psi_cpu, psi_io;
	uint64_t seconds, reclaim_seconds, pressure_seconds;
	double *steal, *soft; /* per core, exponentially smoothed over about 15 s */
	size_t cpus;
	uint64_t first_dying, first_ns, last_ns;
	bool dying_known;
};

static void sums_free(struct sums *s)
{
	collect_spans_free(&s->spans);
	vec_free(&s->quotas);
	free(s->steal);
	free(s->soft);
}

static int sums_grow(struct sums *s, size_t cpus)
{
	if (cpus <= s->cpus)
		return 0;
	double *steal = calloc(cpus, sizeof(double)), *soft = calloc(cpus, sizeof(double));
	if (!steal || !soft) {
		free(steal);
		free(soft);
		return -ENOMEM;
	}
	if (s->cpus) {
		memcpy(steal, s->steal, s->cpus * sizeof(double));
		memcpy(soft, s->soft, s->cpus * sizeof(double));
	}
	free(s->steal);
	free(s->soft);
	s->steal = steal;
	s->soft = soft;
	s->cpus = cpus;
	return 0;
}

/* The worst quarter of a minute of the worst core, not a blink and not the mean of an hour. */
static void add_worst(double *smooth, double now, unsigned cpu, double *worst, unsigned *worst_cpu)
{
	*smooth += (now - *smooth) / 8;
	if (*smooth > *worst) {
		*worst = *smooth;
		*worst_cpu = cpu;
	}
}

static int add_cores(struct sums *s, const struct rates *r, struct facts *f)
{
	if (!(r->known & RATE_CORES))
		return 0;
	vec_foreach (&r->cpus, c) {
		if (c->cpu >= 65536 || sums_grow(s, c->cpu + 1) < 0)
			return -ENOMEM;
		add_worst(&s->steal[c->cpu], c->steal, (unsigned)c->cpu, &f->steal_percent,
			  &f->steal_cpu);
		add_worst(&s->soft[c->cpu], c->soft + c->irq, (unsigned)c->cpu, &f->soft_percent,
			  &f->soft_cpu);
	}
	f->have |= FACT_CORES;
	return collect_spans_feed(&s->spans, r);
}

static struct quota_sum *quota_of(struct sums *s, struct collected *c, const char *cgroup)
{
	vec_foreach (&s->quotas, q)
		if (strcmp(q->cgroup, cgroup) == 0)
			return q;
	struct quota_sum fresh = { .cgroup = collect_text(c, cgroup) };
	if (!fresh.cgroup || !vec_push(&s->quotas, fresh))
		return NULL;
	return &s->quotas.items[s->quotas.len - 1];
}

static int add_quotas(struct sums *s, struct collected *c, const struct rates *r)
{
	vec_foreach (&r->quotas, now) {
		struct quota_sum *q = quota_of(s, c, now->cgroup);
		if (!q)
			return -ENOMEM;
		double x = now->throttled_percent, y = r->direct_pages;
		q->throttled_percent += x;
		q->throttled_us += now->throttled_us;
		q->n++;
		q->x += x;
		q->y += y;
		q->xx += x * x;
		q->yy += y * y;
		q->xy += x * y;
	}
	return 0;
}

static void add_pressure(struct sums *s, const struct rates *r)
{
	const struct rate_pressure *memory = &r->pressure[PRESSURE_MEMORY];

	if (r->known & RATE_RECLAIM) {
		s->direct += r->direct_pages;
		s->kswapd += r->kswapd_pages;
		s->reclaim_seconds++;
	}
	if (!memory->some_known)
		return;
	s->psi_memory_some += memory->some;
	s->psi_memory_full += memory->full_known ? memory->full : 0;
	s->psi_cpu += r->pressure[PRESSURE_CPU].some;
	s->psi_io += r->pressure[PRESSURE_IO].full;
	s->pressure_seconds++;
}

static void add_cgroups(struct sums *s, const struct tick *t, struct facts *f)
{
	if (!t->rows[REC_CGROUPS].len)
		return;
	const struct rec_cgroups *g = TICK_ROW(t, REC_CGROUPS, rec_cgroups, 0);
	if (g->have & REC_CGROUPS_MEMORY)
		f->memory_v1 = g->memory == CGROUP_MEMORY_V1;
	if (!(g->have & REC_CGROUPS_DYING))
		return;
	f->dying = g->dying;
	if (!s->dying_known) {
		s->dying_known = true;
		s->first_dying = g->dying;
		s->first_ns = t->real_ns;
	}
	s->last_ns = t->real_ns;
	if (g->have & REC_CGROUPS_TRACKED)
		f->tracked = g->tracked;
	if (g->have & REC_CGROUPS_LIVE)
		f->alive = g->live;
	f->have |= FACT_MEMCG;
}

static int add_pair(struct sums *s, struct collected *c, const struct tick *t,
		    const struct rates *r)
{
	int code = add_cores(s, r, &c->facts);
	if (code == 0)
		code = add_quotas(s, c, r);
	add_pressure(s, r);
	collect_spans_tasks(&s->spans, t);
	s->seconds++;
	return code;
}

static double correlation(const struct quota_sum *q)
{
	double n = (double)q->n, vx = n * q->xx - q->x * q->x, vy = n * q->yy - q->y * q->y;

	return q->n < 10 || vx <= 0 || vy <= 0 ? NAN : (n * q->xy - q->x * q->y) / sqrt(vx * vy);
}

/* "/system.slice/x.service" → x.service */
const char *collect_unit_of(struct collected *c, const char *cgroup)
{
	struct owner owner;

	if (!cgroup)
		return NULL;
	owner_parse(cgroup, strlen(cgroup), &owner);
	return owner.unit.at ? arena_strndup(&c->strings, owner.unit.at, owner.unit.len) : NULL;
}

static int finish_spans(struct sums *s, struct collected *c)
{
	if (collect_spans_end(&s->spans) < 0)
		return -ENOMEM;
	vec_foreach (&s->spans.done, span) {
		struct fact_core core = {
			.cpu = span->cpu,
			.from_ns = span->from_ns,
			.to_ns = span->to_ns,
			.usr = span->usr / span->n,
			.sys = span->sys / span->n,
			.soft = span->soft / span->n,
			.irq = span->irq / span->n,
			.steal = span->steal / span->n,
			.host_busy = span->host_busy / span->n,
		};
		const struct collect_holder *holder = collect_span_holder(span);
		if (holder) {
			core.pid = holder->pid;
			core.comm = collect_text(c, holder->comm);
			core.cgroup = collect_text(c, holder->cgroup);
			core.unit = collect_unit_of(c, core.cgroup);
			core.realtime =
				holder->realtime_ns * 2 >= holder->ran_ns && holder->realtime_ns;
			core.task_share = 100.0 * (double)holder->ran_ns /
					  (double)(span->to_ns - span->from_ns + 1);
		}
		if (!vec_push(&c->facts.cores, core))
			return -ENOMEM;
	}
	return 0;
}

static int finish_quotas(struct sums *s, struct collected *c)
{
	vec_foreach (&s->quotas, q) {
		struct fact_quota quota = {
			.cgroup = q->cgroup,
			.unit = collect_unit_of(c, q->cgroup),
			.throttled_percent = q->throttled_percent / (double)q->n,
			.throttled_ns = q->throttled_us * 1000,
			.reclaim_correlation = correlation(q),
		};
		if (!vec_push(&c->facts.quotas, quota))
			return -ENOMEM;
	}
	return 0;
}

static void finish_means(const struct sums *s, struct facts *f)
{
	if (s->reclaim_seconds) {
		f->have |= FACT_RECLAIM;
		f->direct_pages_per_s = s->direct / (double)s->reclaim_seconds;
		f->kswapd_pages_per_s = s->kswapd / (double)s->reclaim_seconds;
	}
	if (s->pressure_seconds) {
		f->have |= FACT_PRESSURE;
		f->psi_memory_some = s->psi_memory_some / (double)s->pressure_seconds;
		f->psi_memory_full = s->psi_memory_full / (double)s->pressure_seconds;
		f->psi_cpu_some = s->psi_cpu / (double)s->pressure_seconds;
		f->psi_io_full = s->psi_io / (double)s->pressure_seconds;
	}
	if (s->dying_known && s->last_ns > s->first_ns + collect_history_ns) {
		f->have |= FACT_HISTORY;
		f->zombies_per_hour = ((double)f->dying - (double)s->first_dying) /
				      ((double)(s->last_ns - s->first_ns) / 3600e9);
	}
	if (s->seconds)
		f->have |= FACT_QUOTA | (s->spans.tasks_known ? FACT_TASKS : 0);
}

static int finish(struct sums *s, struct collected *c)
{
	int r = finish_spans(s, c);
	if (r >= 0)
		r = finish_quotas(s, c);
	finish_means(s, &c->facts);
	return r;
}

int collect_captured_ticks(const struct root *root, struct collected *c, struct err *err)
{
	__attribute__((cleanup(sums_free))) struct sums s = { 0 };
	AUTO_RATES struct rates rates = { 0 };
	AUTO_TICK struct tick before = { 0 }, after = { 0 };
	const struct tick_source_options options = { .thorough = true };
	struct offer offer;

	int r = captured_pair(root, &options, NS_PER_S, &before, &after, &offer, &c->unknown, err);
	if (r < 0)
		return r;
	c->facts.from_ns = r ? before.real_ns : after.real_ns;
	c->facts.to_ns = after.real_ns;
	c->facts.uptime_s = after.boot_ns / NS_PER_S;
	add_cgroups(&s, &after, &c->facts);
	if (r && rates_compute(&before, &after, &rates) == 0)
		r = add_pair(&s, c, &after, &rates);
	if (r >= 0)
		r = finish(&s, c);
	return r < 0 ? err_set(err, r, "%s: %s", root->path, strerror(-r)) : 0;
}

int collect_ticks(const struct collect_window *w, struct collected *c, struct err *err)
{
	__attribute__((cleanup(sums_free))) struct sums s = { 0 };
	AUTO_RATES struct rates rates = { 0 };
	struct tick before = { 0 };
	struct stream_item item;
	bool paired = false;

	int r = stream_seek(w->stream, w->from_ns, w->to_ns, STREAM_TICKS | STREAM_LEAD, err);
	while (r >= 0 && (r = stream_next(w->stream, &item, err)) > 0) {
		if (!item.tick)
			continue;
		if (!paired && w->live)
			c->facts.from_ns = item.tick->real_ns; /* what was watched; the log reaches
								  further back */
		c->facts.uptime_s = item.tick->boot_ns / NS_PER_S;
		add_cgroups(&s, item.tick, &c->facts);
		if (paired && rates_compute(&before, item.tick, &rates) == 0)
			r = add_pair(&s, c, item.tick, &rates);
		else
			r = collect_spans_end(&s.spans);
		if (r >= 0)
			r = tick_copy(&before, item.tick);
		paired = true;
	}
	tick_free(&before);
	if (r >= 0)
		r = finish(&s, c);
	if (r < 0)
		return err && err->code == r
			       ? r
			       : err_set(err, r, "reading the ticks: %s", strerror(-r));
	return 0;
}

#include "rates.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "auto.h"
#include "rec_cpu.h"
#include "rec_load.h"
#include "rec_quota.h"
#include "rec_softnet.h"
#include "rec_vmstat.h"
#include "timefmt.h"

/* Jiffies of one core in the interval, split as mpstat shows them. */
struct rates_part {
	uint64_t usr, nice, sys, iowait, irq, soft, steal, guest, gnice, idle;
};

double rate_cpu_busy(const struct rate_cpu *c)
{
	return fmax(0, 100.0 - c->idle - c->iowait);
}

double rate_cpu_kernel(const struct rate_cpu *c)
{
	return c->sys + c->irq + c->soft;
}

const char *rate_missing_why(enum rate_missing why)
{
	static const char *const texts[] = {
		[RATE_MISSING_UNREADABLE] = "its line in /proc/stat cannot be read",
		[RATE_MISSING_CAME] = "it came online meanwhile",
		[RATE_MISSING_RESET] = "its counters were reset meanwhile",
	};
	return texts[why];
}

/* Idle and iowait may step back by a few jiffies: that is nothing, not minus something. */
static uint64_t rates_grown(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

static uint64_t rates_without(uint64_t whole, uint64_t part)
{
	return whole > part ? whole - part : 0;
}

static struct rates_part rates_cpu_part(const struct rec_cpu *a, const struct rec_cpu *b)
{
	struct rates_part p = {
		.sys = rates_grown(a->sys, b->sys),
		.iowait = rates_grown(a->iowait, b->iowait),
		.irq = rates_grown(a->irq, b->irq),
		.soft = rates_grown(a->softirq, b->softirq),
		.steal = rates_grown(a->steal, b->steal),
		.idle = rates_grown(a->idle, b->idle),
	};
	/* the kernel counts guest time inside usr and nice, sometimes a jiffy more than it adds
	 * there */
	uint64_t usr = rates_grown(a->usr, b->usr), nice = rates_grown(a->nice, b->nice);
	p.guest = MIN_OF(rates_grown(a->guest, b->guest), usr);
	p.gnice = MIN_OF(rates_grown(a->guest_nice, b->guest_nice), nice);
	p.usr = rates_without(usr, p.guest);
	p.nice = rates_without(nice, p.gnice);
	return p;
}

static uint64_t rates_total(const struct rates_part *p)
{
	return p->usr + p->nice + p->sys + p->iowait + p->irq + p->soft + p->steal + p->guest +
	       p->gnice + p->idle;
}

static void rates_add(struct rates_part *sum, const struct rates_part *p)
{
	sum->usr += p->usr;
	sum->nice += p->nice;
	sum->sys += p->sys;
	sum->iowait += p->iowait;
	sum->irq += p->irq;
	sum->soft += p->soft;
	sum->steal += p->steal;
	sum->guest += p->guest;
	sum->gnice += p->gnice;
	sum->idle += p->idle;
}

static struct rate_cpu rates_percent(uint64_t cpu, const struct rates_part *p)
{
	uint64_t total = rates_total(p);

	if (!total) /* a tickless core that slept all the time was not even counted as idle */
		return (struct rate_cpu){ .cpu = cpu, .idle = 100.0 };
	double per = 100.0 / (double)total;
	return (struct rate_cpu){
		.cpu = cpu,
		.usr = per * (double)p->usr,
		.nice = per * (double)p->nice,
		.sys = per * (double)p->sys,
		.iowait = per * (double)p->iowait,
		.irq = per * (double)p->irq,
		.soft = per * (double)p->soft,
		.steal = per * (double)p->steal,
		.guest = per * (double)p->guest,
		.gnice = per * (double)p->gnice,
		.idle = per * (double)p->idle,
	};
}

/* A core whose counters all fell was reset (hotplug on some kernels): its past is not comparable.
 */
static bool rates_cpu_was_reset(const struct rec_cpu *a, const struct rec_cpu *b)
{
	return b->usr < a->usr || b->sys < a->sys || b->softirq < a->softirq ||
	       (b->idle < a->idle && a->idle - b->idle > 100);
}

static bool rates_cpu_usable(const struct rec_cpu *c)
{
	const uint64_t least = REC_CPU_ID | REC_CPU_USR | REC_CPU_SYS | REC_CPU_IDLE;

	return (c->have & least) == least;
}

/* The row of `cpu` in a tick; rows are in order, so *hint is nearly always right. */
static const struct rec_cpu *rates_find_cpu(const struct tick *t, uint64_t cpu, size_t *hint)
{
	size_t n = t->rows[REC_CPU].len;

	for (size_t tries = 0; tries < n; tries++, ++*hint) {
		if (*hint >= n)
			*hint = 0;
		const struct rec_cpu *c = TICK_ROW(t, REC_CPU, rec_cpu, *hint);
		if (c->cpu == cpu) {
			++*hint;
			return c;
		}
	}
	return NULL;
}

/* Can the two be compared? Or *ret says why not. */
static bool rates_cpu_pair(const struct rec_cpu *a, const struct rec_cpu *b, enum rate_missing *ret)
{
	if (!rates_cpu_usable(b) || (a && !rates_cpu_usable(a)))
		*ret = RATE_MISSING_UNREADABLE;
	else if (!a)
		*ret = RATE_MISSING_CAME;
	else if (rates_cpu_was_reset(a, b))
		*ret = RATE_MISSING_RESET;
	else
		return true;
	return false;
}

static int rates_cores(const struct tick *before, const struct tick *after, struct rates *r)
{
	struct rates_part sum = { 0 };
	size_t hint = 0;

	r->cpus.len = r->unknown.len = 0;
	for (size_t i = 0; i < after->rows[REC_CPU].len; i++) {
		const struct rec_cpu *b = TICK_ROW(after, REC_CPU, rec_cpu, i);
		const struct rec_cpu *a = rates_find_cpu(before, b->cpu, &hint);
		struct rate_unknown unknown = { .cpu = b->cpu };
		if (!rates_cpu_pair(a, b, &unknown.why)) {
			if (!vec_push(&r->unknown, unknown))
				return -ENOMEM;
			continue;
		}
		struct rates_part p = rates_cpu_part(a, b);
		rates_add(&sum, &p);
		if (!vec_push(&r->cpus, rates_percent(b->cpu, &p)))
			return -ENOMEM;
	}
	r->all = rates_percent(0, &sum);
	if (r->cpus.len)
		r->known |= RATE_CORES;
	return 0;
}

/* Those of before that still have no row, and those that just went. */
static int rates_offline(const struct tick *before, const struct tick *after, struct rates *r)
{
	size_t hint = 0, kept = 0;

	if (!after->rows[REC_CPU].len)
		return 0;
	for (size_t i = 0; i < r->offline.len; i++)
		if (!rates_find_cpu(after, r->offline.items[i], &hint))
			r->offline.items[kept++] = r->offline.items[i];
	r->offline.len = kept;
	hint = 0;
	for (size_t i = 0; i < before->rows[REC_CPU].len; i++) {
		uint64_t cpu = TICK_ROW(before, REC_CPU, rec_cpu, i)->cpu;
		if (!rates_find_cpu(after, cpu, &hint) && !vec_push(&r->offline, cpu))
			return -ENOMEM;
	}
	return 0;
}

static double rates_per_s(const struct rates *r, uint64_t before, uint64_t after)
{
	return (double)rates_grown(before, after) * 1e9 / (double)r->interval_ns;
}

static void rates_vmstat(const struct tick *before, const struct tick *after, struct rates *r)
{
	if (!before->rows[REC_VMSTAT].len || !after->rows[REC_VMSTAT].len)
		return;
	const struct rec_vmstat *a = TICK_ROW(before, REC_VMSTAT, rec_vmstat, 0);
	const struct rec_vmstat *b = TICK_ROW(after, REC_VMSTAT, rec_vmstat, 0);
	uint64_t both = a->have & b->have;
	const uint64_t reclaim = REC_VMSTAT_PGSCAN_DIRECT | REC_VMSTAT_PGSCAN_KSWAPD;

	if ((both & reclaim) == reclaim) {
		r->direct_pages = rates_per_s(r, a->pgscan_direct, b->pgscan_direct);
		r->kswapd_pages = rates_per_s(r, a->pgscan_kswapd, b->pgscan_kswapd);
		r->allocstalls = both & REC_VMSTAT_ALLOCSTALL
					 ? rates_per_s(r, a->allocstall, b->allocstall)
					 : 0;
		r->known |= RATE_RECLAIM;
	}
	if (both & REC_VMSTAT_OOM_KILL) {
		r->oom_kills = rates_grown(a->oom_kill, b->oom_kill);
		r->known |= RATE_OOM;
	}
	if (both & REC_VMSTAT_PGMAJFAULT) {
		r->major_faults = rates_per_s(r, a->pgmajfault, b->pgmajfault);
		r->known |= RATE_FAULTS;
	}
}

static void rates_load(const struct tick *before, const struct tick *after, struct rates *r)
{
	if (!before->rows[REC_LOAD].len || !after->rows[REC_LOAD].len)
		return;
	const struct rec_load *a = TICK_ROW(before, REC_LOAD, rec_load, 0);
	const struct rec_load *b = TICK_ROW(after, REC_LOAD, rec_load, 0);
	uint64_t both = a->have & b->have;

	if (both & REC_LOAD_FORKS) {
		r->forks = rates_per_s(r, a->forks, b->forks);
		r->known |= RATE_FORKS;
	}
	if (both & REC_LOAD_CTXT) {
		r->context_switches = rates_per_s(r, a->ctxt, b->ctxt);
		r->known |= RATE_CTXT;
	}
}

static void rates_softnet(const struct tick *before, const struct tick *after, struct rates *r)
{
	size_t n = after->rows[REC_SOFTNET].len;

	if (!n || before->rows[REC_SOFTNET].len != n)
		return; /* a core came or went: compare from the next tick on */
	for (size_t i = 0; i < n; i++) {
		const struct rec_softnet *a = TICK_ROW(before, REC_SOFTNET, rec_softnet, i);
		const struct rec_softnet *b = TICK_ROW(after, REC_SOFTNET, rec_softnet, i);
		if (a->cpu != b->cpu)
			continue;
		r->softnet_dropped += rates_per_s(r, a->dropped, b->dropped);
		r->softnet_squeezed += rates_per_s(r, a->squeezed, b->squeezed);
	}
	r->known |= RATE_SOFTNET;
}

static double rates_stalled(const struct rates *r, uint64_t before_us, uint64_t after_us)
{
	double percent = (double)rates_grown(before_us, after_us) * 1e5 / (double)r->interval_ns;
	return fmin(100.0, percent);
}

static void rates_pressure(const struct tick *before, const struct tick *after, struct rates *r)
{
	for (size_t i = 0; i < after->rows[REC_PRESSURE].len; i++) {
		const struct rec_pressure *b = TICK_ROW(after, REC_PRESSURE, rec_pressure, i);
		for (size_t k = 0; k < before->rows[REC_PRESSURE].len; k++) {
			const struct rec_pressure *a =
				TICK_ROW(before, REC_PRESSURE, rec_pressure, k);
			uint64_t both = a->have & b->have;
			if (a->resource != b->resource || b->resource >= PRESSURE_END)
				continue;
			struct rate_pressure *p = &r->pressure[b->resource];
			p->some_known = both & REC_PRESSURE_SOME_TOTAL;
			p->full_known = both & REC_PRESSURE_FULL_TOTAL;
			p->some = rates_stalled(r, a->some_total, b->some_total);
			p->full = rates_stalled(r, a->full_total, b->full_total);
		}
	}
}

static const struct rec_quota *rates_find_quota(const struct tick *t, const char *cgroup)
{
	for (size_t i = 0; i < t->rows[REC_QUOTA].len; i++) {
		const struct rec_quota *q = TICK_ROW(t, REC_QUOTA, rec_quota, i);
		if (q->have & REC_QUOTA_CGROUP && strcmp(q->cgroup, cgroup) == 0)
			return q;
	}
	return NULL;
}

static int rates_quotas(const struct tick *before, const struct tick *after, struct rates *r)
{
	r->quotas.len = 0;
	for (size_t i = 0; i < after->rows[REC_QUOTA].len; i++) {
		const struct rec_quota *b = TICK_ROW(after, REC_QUOTA, rec_quota, i);
		const struct rec_quota *a =
			b->have & REC_QUOTA_CGROUP ? rates_find_quota(before, b->cgroup) : NULL;
		if (!a || !(a->have & b->have & REC_QUOTA_PERIODS))
			continue;
		uint64_t periods = rates_grown(a->periods, b->periods);
		uint64_t throttled = MIN_OF(rates_grown(a->throttled, b->throttled), periods);
		struct rate_quota q = {
			.cgroup = b->cgroup,
			.throttled_percent =
				periods ? 100.0 * (double)throttled / (double)periods : 0,
			.throttled_us = rates_grown(a->throttled_time, b->throttled_time),
		};
		if (!vec_push(&r->quotas, q))
			return -ENOMEM;
	}
	return 0;
}

int rates_compute(const struct tick *before, const struct tick *after, struct rates *ret)
{
	struct rates r = { .from_ns = before->real_ns, .to_ns = after->real_ns };

	if (after->mono_ns <= before->mono_ns) { /* the same reading, or it was started anew */
		ret->offline.len = 0;
		return -ENODATA;
	}
	r.interval_ns = after->mono_ns - before->mono_ns;
	uint64_t boot = rates_grown(before->boot_ns, after->boot_ns);
	r.suspended_ns = rates_grown(r.interval_ns, boot);
	r.step_ns =
		(int64_t)(after->real_ns - before->real_ns) - (int64_t)MAX_OF(boot, r.interval_ns);
	r.cpus.items = ret->cpus.items;
	r.cpus.cap = ret->cpus.cap;
	r.quotas.items = ret->quotas.items;
	r.quotas.cap = ret->quotas.cap;
	r.offline.items = ret->offline.items;
	r.offline.cap = ret->offline.cap;
	r.offline.len = ret->offline.len;
	r.unknown.items = ret->unknown.items;
	r.unknown.cap = ret->unknown.cap;
	int status = rates_cores(before, after, &r);
	if (status == 0)
		status = rates_offline(before, after, &r);
	rates_vmstat(before, after, &r);
	rates_load(before, after, &r);
	rates_softnet(before, after, &r);
	rates_pressure(before, after, &r);
	if (status == 0)
		status = rates_quotas(before, after, &r);
	*ret = r;
	return status;
}

void rates_free(struct rates *r)
{
	vec_free(&r->cpus);
	vec_free(&r->offline);
	vec_free(&r->unknown);
	vec_free(&r->quotas);
}

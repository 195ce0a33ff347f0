#include "health_measure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "rec_cgroups.h"
#include "rec_load.h"
#include "rec_meminfo.h"
#include "rec_vmstat.h"
#include "text.h"

static void __attribute__((format(printf, 2, 3)))
health_say(struct health_line *line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(line->detail, sizeof(line->detail), format, args);
	va_end(args);
}

static void health_number(struct health_line *line, const char *key, double value,
			  unsigned decimals)
{
	if (line->n_numbers < ARRAY_LEN(line->numbers))
		line->numbers[line->n_numbers++] = (struct health_number){ key, value, decimals };
}

static bool health_is_unknown(const struct health_input *in, const char *what)
{
	if (!in->unknown)
		return false;
	vec_foreach (&in->unknown->list, it)
		if (strcmp(it->what, what) == 0)
			return true;
	return false;
}

static const struct rates *health_rates(const struct health_input *in, unsigned known)
{
	return in->rates && (in->rates->known & known) == known ? in->rates : NULL;
}

/* The core for which `of` is largest. */
static const struct rate_cpu *health_worst_core(const struct rates *r,
						double (*of)(const struct rate_cpu *c))
{
	const struct rate_cpu *worst = NULL;

	vec_foreach (&r->cpus, it)
		if (!worst || of(it) > of(worst))
			worst = it;
	return worst;
}

static double health_steal_of(const struct rate_cpu *c)
{
	return c->steal;
}

int health_measure_core_kernel(const struct health_input *in, struct health_line *ret)
{
	const struct rates *r = health_rates(in, RATE_CORES);

	if (!r)
		return -ENODATA;
	const struct rate_cpu *c = health_worst_core(r, rate_cpu_kernel);
	ret->value = rate_cpu_kernel(c);
	ret->cpu = (int)c->cpu;
	health_number(ret, "sys_percent", c->sys, 2);
	health_number(ret, "irq_percent", c->irq, 2);
	health_number(ret, "soft_percent", c->soft, 2);
	health_number(ret, "mean_busy_percent", rate_cpu_busy(&r->all), 2);
	health_say(ret, "core %llu: sys %.0f, irq %.0f, soft %.0f; mean of %zu cores busy %.0f %%",
		   (unsigned long long)c->cpu, c->sys, c->irq, c->soft, r->cpus.len,
		   rate_cpu_busy(&r->all));
	return 0;
}

int health_measure_cores_busy(const struct health_input *in, struct health_line *ret)
{
	const struct rates *r = health_rates(in, RATE_CORES);
	unsigned saturated = 0;

	if (!r)
		return -ENODATA;
	const struct rate_cpu *c = health_worst_core(r, rate_cpu_busy);
	vec_foreach (&r->cpus, it)
		saturated += rate_cpu_busy(it) >= RATE_SATURATED_PERCENT;
	ret->value = rate_cpu_busy(&r->all);
	ret->cpu = (int)c->cpu;
	health_number(ret, "cpu_busy_percent", rate_cpu_busy(c), 2);
	health_number(ret, "saturated", saturated, 0);
	health_number(ret, "cores", (double)r->cpus.len, 0);
	health_say(ret, "%u of %zu cores saturated; busiest is core %llu, %.0f %%", saturated,
		   r->cpus.len, (unsigned long long)c->cpu, rate_cpu_busy(c));
	return 0;
}

int health_measure_steal(const struct health_input *in, struct health_line *ret)
{
	const struct rates *r = health_rates(in, RATE_CORES);

	if (!r)
		return -ENODATA;
	const struct rate_cpu *c = health_worst_core(r, health_steal_of);
	ret->value = c->steal;
	ret->cpu = (int)c->cpu;
	health_say(ret, "core %llu", (unsigned long long)c->cpu);
	return 0;
}

static const struct rec_cgroups *health_cgroups(const struct health_input *in, uint64_t have)
{
	if (!in->tick->rows[REC_CGROUPS].len)
		return NULL;
	const struct rec_cgroups *c = TICK_ROW(in->tick, REC_CGROUPS, rec_cgroups, 0);
	return (c->have & have) == have ? c : NULL;
}

int health_measure_zombies(const struct health_input *in, struct health_line *ret)
{
	const struct rec_cgroups *memory = health_cgroups(in, REC_CGROUPS_MEMORY);

	if (memory && !memory->memory) {
		health_say(ret, "the memory controller is switched off");
		return -EOPNOTSUPP;
	}
	const struct rec_cgroups *c =
		health_cgroups(in, REC_CGROUPS_DYING | REC_CGROUPS_TRACKED | REC_CGROUPS_LIVE);
	if (!c)
		return -ENODATA;
	ret->value = (double)c->dying;
	health_number(ret, "tracked", (double)c->tracked, 0);
	health_number(ret, "live", (double)c->live, 0);
	health_number(ret, "dying", (double)c->dying, 0);
	double ratio = (double)c->tracked / (double)MAX_OF(c->live, (uint64_t)1);
	if (in->zombie_owner) {
		health_number(ret, "owner_count", (double)in->zombie_owner_count, 0);
		text_copy(ret->owner, sizeof(ret->owner), in->zombie_owner);
	}
	health_say(ret, "%llu tracked by the kernel, %llu live, ratio %.1f",
		   (unsigned long long)c->tracked, (unsigned long long)c->live, ratio);
	if (in->zombie_owner)
		health_say(ret, "%llu of %s; %llu tracked by the kernel, %llu live, ratio %.1f",
			   (unsigned long long)in->zombie_owner_count, ret->owner,
			   (unsigned long long)c->tracked, (unsigned long long)c->live, ratio);
	return 0;
}

static const struct rec_meminfo *health_meminfo(const struct health_input *in, uint64_t have)
{
	if (!in->tick->rows[REC_MEMINFO].len)
		return NULL;
	const struct rec_meminfo *m = TICK_ROW(in->tick, REC_MEMINFO, rec_meminfo, 0);
	return (m->have & have) == have && m->total ? m : NULL;
}

int health_measure_percpu(const struct health_input *in, struct health_line *ret)
{
	const struct rec_meminfo *m = health_meminfo(in, REC_MEMINFO_TOTAL | REC_MEMINFO_PERCPU);

	if (!m)
		return -ENODATA;
	ret->value = 100.0 * (double)m->percpu / (double)m->total;
	health_number(ret, "bytes", (double)m->percpu, 0);
	health_say(ret, "%.1f MiB of per-core kernel memory", (double)m->percpu / 1048576);
	return 0;
}

int health_measure_available(const struct health_input *in, struct health_line *ret)
{
	const struct rec_meminfo *m = health_meminfo(in, REC_MEMINFO_TOTAL | REC_MEMINFO_AVAILABLE);

	if (!m)
		return -ENODATA;
	ret->value = 100.0 * (double)m->available / (double)m->total;
	health_number(ret, "available_bytes", (double)m->available, 0);
	health_number(ret, "total_bytes", (double)m->total, 0);
	health_say(ret, "%.1f of %.1f GiB", (double)m->available / 1073741824,
		   (double)m->total / 1073741824);
	return 0;
}

/* Over the interval where two readings are there, else the kernel's own mean of 10 s. */
static int health_pressure(const struct health_input *in, enum pressure_resource resource,
			   bool full, struct health_line *ret)
{
	const struct rate_pressure *p = in->rates ? &in->rates->pressure[resource] : NULL;

	for (size_t i = 0; i < in->tick->rows[REC_PRESSURE].len; i++) {
		const struct rec_pressure *row = TICK_ROW(in->tick, REC_PRESSURE, rec_pressure, i);
		uint64_t bit = full ? REC_PRESSURE_FULL_AVG10 : REC_PRESSURE_SOME_AVG10;
		if (row->resource != resource || !(row->have & bit))
			continue;
		double avg10 = (double)(full ? row->full_avg10 : row->some_avg10) / 100;
		ret->value = avg10;
		if (p && (full ? p->full_known : p->some_known))
			ret->value = full ? p->full : p->some;
		health_number(ret, "avg10_percent", avg10, 2);
		health_say(ret, "%.1f %% over 10 s", avg10);
		return 0;
	}
	return -ENODATA;
}

int health_measure_psi_cpu(const struct health_input *in, struct health_line *ret)
{
	return health_pressure(in, PRESSURE_CPU, false, ret);
}

int health_measure_psi_memory(const struct health_input *in, struct health_line *ret)
{
	return health_pressure(in, PRESSURE_MEMORY, true, ret);
}

int health_measure_psi_io(const struct health_input *in, struct health_line *ret)
{
	return health_pressure(in, PRESSURE_IO, true, ret);
}

int health_measure_reclaim(const struct health_input *in, struct health_line *ret)
{
	const struct rates *r = health_rates(in, RATE_RECLAIM);

	if (!r)
		return -ENODATA;
	ret->value = r->direct_pages;
	health_number(ret, "kswapd_pages_per_s", r->kswapd_pages, 2);
	health_number(ret, "stalls_per_s", r->allocstalls, 2);
	health_say(ret, "kswapd %.0f pages/s, %.0f stalls/s", r->kswapd_pages, r->allocstalls);
	return 0;
}

int health_measure_oom(const struct health_input *in, struct health_line *ret)
{
	const struct rates *r = health_rates(in, RATE_OOM);

	if (!r)
		return -ENODATA;
	ret->value = (double)r->oom_kills;
	if (!in->tick->rows[REC_VMSTAT].len)
		return 0;
	const struct rec_vmstat *v = TICK_ROW(in->tick, REC_VMSTAT, rec_vmstat, 0);
	health_number(ret, "since_boot", (double)v->oom_kill, 0);
	if (v->oom_kill)
		health_say(ret, "%llu since boot", (unsigned long long)v->oom_kill);
	else
		health_say(ret, "none since boot");
	return 0;
}

int health_measure_throttling(const struct health_input *in, struct health_line *ret)
{
	const struct rate_quota *worst = NULL;

	const struct rec_cgroups *c = health_cgroups(in, REC_CGROUPS_MODE);
	if (!in->rates || !c || !c->mode)
		return -ENODATA;
	vec_foreach (&in->rates->quotas, it)
		if (!worst || it->throttled_percent > worst->throttled_percent)
			worst = it;
	/* none was found because none could be looked for */
	if (!worst && health_is_unknown(in, "CPU quotas"))
		return -ENODATA;
	ret->value = worst ? worst->throttled_percent : 0;
	health_number(ret, "quotas", (double)in->rates->quotas.len, 0);
	if (worst)
		health_number(ret, "throttled_us", (double)worst->throttled_us, 0);
	if (worst && worst->throttled_percent > 0)
		health_say(ret, "%s: stopped for %llu ms", worst->cgroup,
			   (unsigned long long)worst->throttled_us / 1000);
	else
		health_say(ret, "%zu cgroups with a quota", in->rates->quotas.len);
	return 0;
}

int health_measure_load(const struct health_input *in, struct health_line *ret)
{
	size_t cores = in->tick->rows[REC_CPU].len;

	if (!cores || !in->tick->rows[REC_LOAD].len)
		return -ENODATA;
	const struct rec_load *l = TICK_ROW(in->tick, REC_LOAD, rec_load, 0);
	const uint64_t have = REC_LOAD_LOAD1_X100 | REC_LOAD_LOAD5_X100 | REC_LOAD_LOAD15_X100;
	if ((l->have & have) != have)
		return -ENODATA;
	ret->value = (double)l->load1_x100 / 100 / (double)cores;
	health_number(ret, "load1", (double)l->load1_x100 / 100, 2);
	health_number(ret, "load5", (double)l->load5_x100 / 100, 2);
	health_number(ret, "load15", (double)l->load15_x100 / 100, 2);
	health_number(ret, "cores", (double)cores, 0);
	health_say(ret, "load %.2f %.2f %.2f on %zu cores", (double)l->load1_x100 / 100,
		   (double)l->load5_x100 / 100, (double)l->load15_x100 / 100, cores);
	return 0;
}

int health_measure_softnet(const struct health_input *in, struct health_line *ret)
{
	const struct rates *r = health_rates(in, RATE_SOFTNET);

	if (!r)
		return -ENODATA;
	ret->value = r->softnet_dropped;
	health_number(ret, "squeezed_per_s", r->softnet_squeezed, 2);
	health_say(ret, "budget used up %.0f times/s", r->softnet_squeezed);
	return 0;
}

#include "health.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "rec_cgroups.h"
#include "rec_load.h"
#include "rec_meminfo.h"

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

static int measure_core_kernel(const struct health_input *in, double *ret, char *detail)
{
	const struct rates *r = health_rates(in, RATE_CORES);

	if (!r)
		return -ENODATA;
	const struct rate_cpu *c = health_worst_core(r, rate_cpu_kernel);
	*ret = rate_cpu_kernel(c);
	snprintf(detail, HEALTH_DETAIL_MAX,
		 "core %llu: sys %.0f, irq %.0f, soft %.0f; mean of %zu cores busy %.0f %%",
		 (unsigned long long)c->cpu, c->sys, c->irq, c->soft, r->cpus.len,
		 rate_cpu_busy(&r->all));
	return 0;
}

static int measure_cores_busy(const struct health_input *in, double *ret, char *detail)
{
	const struct rates *r = health_rates(in, RATE_CORES);
	unsigned saturated = 0;

	if (!r)
		return -ENODATA;
	const struct rate_cpu *c = health_worst_core(r, rate_cpu_busy);
	vec_foreach (&r->cpus, it)
		saturated += rate_cpu_busy(it) >= RATE_SATURATED_PERCENT;
	*ret = rate_cpu_busy(&r->all);
	snprintf(detail, HEALTH_DETAIL_MAX,
		 "%u of %zu cores saturated; busiest is core %llu, %.0f %%", saturated, r->cpus.len,
		 (unsigned long long)c->cpu, rate_cpu_busy(c));
	return 0;
}

static int measure_steal(const struct health_input *in, double *ret, char *detail)
{
	const struct rates *r = health_rates(in, RATE_CORES);

	if (!r)
		return -ENODATA;
	const struct rate_cpu *c = health_worst_core(r, health_steal_of);
	*ret = c->steal;
	snprintf(detail, HEALTH_DETAIL_MAX, "core %llu", (unsigned long long)c->cpu);
	return 0;
}

static const struct rec_cgroups *health_cgroups(const struct health_input *in, uint64_t have)
{
	if (!in->tick->rows[REC_CGROUPS].len)
		return NULL;
	const struct rec_cgroups *c = TICK_ROW(in->tick, REC_CGROUPS, rec_cgroups, 0);
	return (c->have & have) == have ? c : NULL;
}

static int measure_zombies(const struct health_input *in, double *ret, char *detail)
{
	const struct rec_cgroups *c =
		health_cgroups(in, REC_CGROUPS_DYING | REC_CGROUPS_TRACKED | REC_CGROUPS_LIVE);

	if (!c)
		return -ENODATA;
	*ret = (double)c->dying;
	snprintf(detail, HEALTH_DETAIL_MAX, "%llu tracked by the kernel, %llu live, ratio %.1f",
		 (unsigned long long)c->tracked, (unsigned long long)c->live,
		 (double)c->tracked / (double)MAX_OF(c->live, (uint64_t)1));
	return 0;
}

static const struct rec_meminfo *health_meminfo(const struct health_input *in, uint64_t have)
{
	if (!in->tick->rows[REC_MEMINFO].len)
		return NULL;
	const struct rec_meminfo *m = TICK_ROW(in->tick, REC_MEMINFO, rec_meminfo, 0);
	return (m->have & have) == have && m->total ? m : NULL;
}

static int measure_percpu(const struct health_input *in, double *ret, char *detail)
{
	const struct rec_meminfo *m = health_meminfo(in, REC_MEMINFO_TOTAL | REC_MEMINFO_PERCPU);

	if (!m)
		return -ENODATA;
	*ret = 100.0 * (double)m->percpu / (double)m->total;
	snprintf(detail, HEALTH_DETAIL_MAX, "%.1f MiB of per-core kernel memory",
		 (double)m->percpu / 1048576);
	return 0;
}

static int measure_available(const struct health_input *in, double *ret, char *detail)
{
	const struct rec_meminfo *m = health_meminfo(in, REC_MEMINFO_TOTAL | REC_MEMINFO_AVAILABLE);

	if (!m)
		return -ENODATA;
	*ret = 100.0 * (double)m->available / (double)m->total;
	snprintf(detail, HEALTH_DETAIL_MAX, "%.1f of %.1f GiB", (double)m->available / 1073741824,
		 (double)m->total / 1073741824);
	return 0;
}

/* Over the interval where two readings are there, else the kernel's own mean of 10 s. */
static int health_pressure(const struct health_input *in, enum pressure_resource resource,
			   bool full, double *ret, char *detail)
{
	const struct rate_pressure *p = in->rates ? &in->rates->pressure[resource] : NULL;

	for (size_t i = 0; i < in->tick->rows[REC_PRESSURE].len; i++) {
		const struct rec_pressure *row = TICK_ROW(in->tick, REC_PRESSURE, rec_pressure, i);
		uint64_t bit = full ? REC_PRESSURE_FULL_AVG10 : REC_PRESSURE_SOME_AVG10;
		if (row->resource != resource || !(row->have & bit))
			continue;
		double avg10 = (double)(full ? row->full_avg10 : row->some_avg10) / 100;
		*ret = avg10;
		if (p && (full ? p->full_known : p->some_known))
			*ret = full ? p->full : p->some;
		snprintf(detail, HEALTH_DETAIL_MAX, "%.1f %% over 10 s", avg10);
		return 0;
	}
	return -ENODATA;
}

static int measure_psi_cpu(const struct health_input *in, double *ret, char *detail)
{
	return health_pressure(in, PRESSURE_CPU, false, ret, detail);
}

static int measure_psi_memory(const struct health_input *in, double *ret, char *detail)
{
	return health_pressure(in, PRESSURE_MEMORY, true, ret, detail);
}

static int measure_psi_io(const struct health_input *in, double *ret, char *detail)
{
	return health_pressure(in, PRESSURE_IO, true, ret, detail);
}

static int measure_reclaim(const struct health_input *in, double *ret, char *detail)
{
	const struct rates *r = health_rates(in, RATE_RECLAIM);

	if (!r)
		return -ENODATA;
	*ret = r->direct_pages;
	snprintf(detail, HEALTH_DETAIL_MAX, "kswapd %.0f pages/s, %.0f stalls/s", r->kswapd_pages,
		 r->allocstalls);
	return 0;
}

static int measure_oom(const struct health_input *in, double *ret, char *detail)
{
	const struct rates *r = health_rates(in, RATE_OOM);

	if (!r)
		return -ENODATA;
	*ret = (double)r->oom_kills;
	*detail = '\0';
	return 0;
}

static int measure_throttling(const struct health_input *in, double *ret, char *detail)
{
	const struct rate_quota *worst = NULL;

	const struct rec_cgroups *c = health_cgroups(in, REC_CGROUPS_MODE);
	if (!in->rates || !c || !c->mode)
		return -ENODATA;
	vec_foreach (&in->rates->quotas, it)
		if (!worst || it->throttled_percent > worst->throttled_percent)
			worst = it;
	*ret = worst ? worst->throttled_percent : 0;
	if (worst && worst->throttled_percent > 0)
		snprintf(detail, HEALTH_DETAIL_MAX, "%s: stopped for %llu ms", worst->cgroup,
			 (unsigned long long)worst->throttled_us / 1000);
	else
		snprintf(detail, HEALTH_DETAIL_MAX, "%zu cgroups with a quota",
			 in->rates->quotas.len);
	return 0;
}

static int measure_load(const struct health_input *in, double *ret, char *detail)
{
	size_t cores = in->tick->rows[REC_CPU].len;

	if (!cores || !in->tick->rows[REC_LOAD].len)
		return -ENODATA;
	const struct rec_load *l = TICK_ROW(in->tick, REC_LOAD, rec_load, 0);
	const uint64_t have = REC_LOAD_LOAD1_X100 | REC_LOAD_LOAD5_X100 | REC_LOAD_LOAD15_X100;
	if ((l->have & have) != have)
		return -ENODATA;
	*ret = (double)l->load1_x100 / 100 / (double)cores;
	snprintf(detail, HEALTH_DETAIL_MAX, "load %.2f %.2f %.2f on %zu cores",
		 (double)l->load1_x100 / 100, (double)l->load5_x100 / 100,
		 (double)l->load15_x100 / 100, cores);
	return 0;
}

static int measure_softnet(const struct health_input *in, double *ret, char *detail)
{
	const struct rates *r = health_rates(in, RATE_SOFTNET);

	if (!r)
		return -ENODATA;
	*ret = r->softnet_dropped;
	snprintf(detail, HEALTH_DETAIL_MAX, "budget used up %.0f times/s", r->softnet_squeezed);
	return 0;
}

/* A node that is fully used is worth a look, but not sick by that alone. */
#define HEALTH_NEVER INFINITY

static const struct health_check checks[] = {
	{ "core-kernel", "one core's time in the kernel", "%", false, 60, 90, 0, "zscope why",
	  "/proc/stat", NULL, measure_core_kernel },
	{ "cores-busy", "all cores busy", "%", false, 98, HEALTH_NEVER, 0, "zscope cores",
	  "/proc/stat", NULL, measure_cores_busy },
	{ "steal", "time stolen from one core", "%", false, 10, 30, 0, "zscope cores", "/proc/stat",
	  NULL, measure_steal },
	{ "memcg-zombies", "zombie memory cgroups", "", false, 1000, 10000, 0, "zscope zombies",
	  "/proc/cgroups, cgroup directories, cgroup.stat", NULL, measure_zombies },
	{ "percpu-memory", "memory in per-core copies", "%", false, 5, 10, 1, "zscope zombies",
	  "/proc/meminfo Percpu", NULL, measure_percpu },
	{ "memory-available", "memory available", "%", true, 10, 5, 0, "zscope why",
	  "/proc/meminfo MemAvailable", NULL, measure_available },
	{ "pressure-memory", "all tasks stalled on memory", "%", false, 5, 20, 1, "zscope why",
	  "/proc/pressure/memory", NULL, measure_psi_memory },
	{ "pressure-io", "all tasks stalled on I/O", "%", false, 30, 70, 1, "zscope why",
	  "/proc/pressure/io", NULL, measure_psi_io },
	{ "pressure-cpu", "some task waited for a core", "%", false, 80, HEALTH_NEVER, 1,
	  "zscope cores", "/proc/pressure/cpu", NULL, measure_psi_cpu },
	{ "reclaim-direct", "pages scanned by waiting tasks", "/s", false, 1000, 50000, 0,
	  "zscope why", "/proc/vmstat pgscan_direct", NULL, measure_reclaim },
	{ "oom-kills", "processes killed for memory", "", false, 1, 3, 0, "zscope events",
	  "/proc/vmstat oom_kill", NULL, measure_oom },
	{ "throttling", "periods stopped by a CPU quota", "%", false, 25, 75, 0, "zscope why",
	  "cpu.stat nr_throttled", NULL, measure_throttling },
	{ "load", "load per core", "", false, 2, 5, 2, "zscope cores", "/proc/loadavg", NULL,
	  measure_load },
	{ "softnet-drops", "packets dropped by a full backlog", "/s", false, 1, 100, 0,
	  "zscope events", "/proc/net/softnet_stat", NULL, measure_softnet },
	{ "crash-loops", "units that crash-loop", "", false, 1, 3, 0, "zscope audit",
	  "systemd NRestarts", "crash-loops", NULL },
	{ "driver-resets", "network driver resets in the last hour", "", false, 1, 3, 0,
	  "zscope events", "/dev/kmsg", "driver-resets", NULL },
};

const struct health_check *health_table(size_t *ret_len)
{
	*ret_len = ARRAY_LEN(checks);
	return checks;
}

const char *health_level_name(enum health_level level)
{
	static const char *const names[] = { "green", "yellow", "red", "unknown" };
	return names[level];
}

static enum health_level health_level_of(const struct health_check *c, double value)
{
	double sign = c->below ? -1 : 1;

	if (sign * value >= sign * c->red)
		return HEALTH_RED;
	return sign * value >= sign * c->yellow ? HEALTH_YELLOW : HEALTH_GREEN;
}

static const struct health_fact *health_find_fact(const struct health_input *in, const char *id)
{
	for (size_t i = 0; i < in->n_facts; i++)
		if (strcmp(in->facts[i].id, id) == 0)
			return &in->facts[i];
	return NULL;
}

static int health_measure(const struct health_check *c, const struct health_input *in,
			  struct health_line *line)
{
	if (!c->fact)
		return c->measure(in, &line->value, line->detail);
	const struct health_fact *fact = health_find_fact(in, c->fact);
	if (!fact)
		return -ENOENT;
	line->value = fact->value;
	snprintf(line->detail, sizeof(line->detail), "%s", fact->detail);
	return 0;
}

int health_judge(const struct health_input *in, struct health_result *ret)
{
	struct health_result result = { .level = HEALTH_UNKNOWN };
	size_t unknown = 0;

	for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
		struct health_line line = { .check = &checks[i], .level = HEALTH_UNKNOWN };
		int r = health_measure(&checks[i], in, &line);
		if (r == -ENOENT)
			continue;
		if (r == 0 && isfinite(line.value)) {
			line.level = health_level_of(&checks[i], line.value);
			if (result.level == HEALTH_UNKNOWN || line.level > result.level)
				result.level = line.level;
		}
		unknown += line.level == HEALTH_UNKNOWN;
		if (!vec_push(&result.lines, line)) {
			health_result_free(&result);
			return -ENOMEM;
		}
	}
	/* few green lights in the dark are no clean bill of health */
	if (result.level == HEALTH_GREEN && unknown * 2 > result.lines.len)
		result.level = HEALTH_UNKNOWN;
	*ret = result;
	return 0;
}

void health_result_free(struct health_result *r)
{
	vec_free(&r->lines);
}

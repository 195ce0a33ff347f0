#include "growth.h"

#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "text.h"
#include "timefmt.h"

/* A trend needs at least this long, and this many points. */
enum { GROWTH_LEAST_S = 120, GROWTH_LEAST_POINTS = 3 };
/* Ten years: as good as never. */
#define GROWTH_FAR_HOURS (24.0 * 365 * 10)

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

/* Median of the slopes between all pairs (Theil-Sen). */
static double median_slope(const struct census_point *p, size_t n, double *slopes)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			if (p[j].time_ns > p[i].time_ns)
				slopes[k++] = ((double)p[j].dying - (double)p[i].dying) /
					      ((double)(p[j].time_ns - p[i].time_ns) / 3.6e12);
	if (!k)
		return 0;
	qsort(slopes, k, sizeof(*slopes), ascending);
	return slopes[k / 2];
}

void growth_compute(const struct census_point *points, size_t n, uint64_t footprint_bytes,
		    const struct growth_onset *onset, struct growth *ret)
{
	struct census_point some[GROWTH_MOST_POINTS];
	size_t m = MIN_OF(n, (size_t)GROWTH_MOST_POINTS);
	AUTO_FREE double *slopes = calloc(m * m / 2 + 1, sizeof(*slopes));

	*ret = (struct growth){ .points = n, .onset = *onset };
	if (!slopes || n < GROWTH_LEAST_POINTS ||
	    points[n - 1].time_ns < points[0].time_ns + GROWTH_LEAST_S * NS_PER_S)
		return;
	for (size_t i = 0; i < m; i++)
		some[i] = points[i * (n - 1) / (m - 1)];
	ret->known = true;
	ret->from_ns = points[0].time_ns;
	ret->to_ns = points[n - 1].time_ns;
	ret->rate_per_hour = median_slope(some, m, slopes);
	uint64_t now = points[n - 1].dying;
	double limit = (double)onset->zombies;
	if (onset->zombies && now >= onset->zombies) /* whether or not they still grow */
		ret->reaches_ns = ret->to_ns;
	if (ret->rate_per_hour < 0.01)
		return;
	ret->doubling_hours = (double)now / ret->rate_per_hour;
	double hours = (double)now >= limit ? 0 : (limit - (double)now) / ret->rate_per_hour;
	if (onset->zombies && hours < GROWTH_FAR_HOURS)
		ret->reaches_ns = ret->to_ns + (uint64_t)(hours * 3.6e12);
	ret->reboot_days = limit / ret->rate_per_hour / 24;
	ret->ram_bytes_per_day = (uint64_t)(ret->rate_per_hour * 24 * (double)footprint_bytes);
}

void growth_ram(struct growth *g, uint64_t dying, uint64_t footprint_bytes, uint64_t host_bytes)
{
	if (!g->known || !footprint_bytes)
		return;
	g->ram_bytes_now = dying * footprint_bytes;
	g->ram_limit_bytes = host_bytes / 100 * GROWTH_RAM_PERCENT;
	bool reached = g->ram_bytes_now >= g->ram_limit_bytes;
	if (!g->ram_limit_bytes || (!g->ram_bytes_per_day && !reached))
		return;
	double left = (double)g->ram_limit_bytes - (double)g->ram_bytes_now;
	double hours = left > 0 ? left / (double)g->ram_bytes_per_day * 24 : 0;
	if (hours < GROWTH_FAR_HOURS)
		g->ram_reaches_ns = g->to_ns + (uint64_t)(hours * 3.6e12);
}

/* Fewer zombies than this drown in what else happens on a host. */
enum { FOOTPRINT_LEAST = 500 };
/* A slope of reclaim out of fewer pairs of stretches is chance. */
enum { ONSET_LEAST_SLOPES = 5, ONSET_MOST_SLOPES = 20000 };

static bool is_weighed(const struct census_point *p)
{
	return p->percpu_bytes && p->slab_bytes;
}

/* Least squares of bytes over zombies; n of the points are weighed. */
static double slope_of(const struct census_point *from, const struct census_point *end, size_t n,
		       bool slab)
{
	double x = 0, y = 0, xx = 0, xy = 0;

	for (const struct census_point *p = from; p < end; p++) {
		if (!is_weighed(p))
			continue;
		x += (double)p->dying / (double)n;
		y += (double)(slab ? p->slab_bytes : p->percpu_bytes) / (double)n;
	}
	for (const struct census_point *p = from; p < end; p++) {
		if (!is_weighed(p))
			continue;
		double bytes = (double)(slab ? p->slab_bytes : p->percpu_bytes);
		xx += ((double)p->dying - x) * ((double)p->dying - x);
		xy += ((double)p->dying - x) * (bytes - y);
	}
	return xx > 0 ? xy / xx : 0;
}

void footprint_measure(const struct census_point *points, size_t n, struct footprint *ret)
{
	uint64_t least = UINT64_MAX, most = 0;
	size_t weighed = 0;

	*ret = (struct footprint){ 0 };
	for (size_t i = 0; i < n; i++) {
		if (!is_weighed(&points[i]))
			continue;
		weighed++;
		least = MIN_OF(least, points[i].dying);
		most = MAX_OF(most, points[i].dying);
	}
	if (!weighed || most - least < FOOTPRINT_LEAST)
		return;
	double percpu = slope_of(points, points + n, weighed, false);
	double slab = slope_of(points, points + n, weighed, true);
	if (percpu <= 0 || slab <= 0) /* something else moved them more */
		return;
	ret->known = true;
	ret->change = most - least;
	ret->percpu_bytes = (uint64_t)percpu;
	ret->slab_bytes = (uint64_t)slab;
}

/* A read walks every memory cgroup, live ones too. */
static bool onset_of_reads(const struct growth_measured *m, struct growth_onset *ret)
{
	if (!m->read_ns || m->dying < FOOTPRINT_LEAST || m->tracked < m->dying)
		return false;
	double each = (double)m->read_ns / (double)m->tracked;
	double all = (double)GROWTH_SLOW_NS / each, live = (double)(m->tracked - m->dying);
	if (all < live + 1 || all > 1e12)
		return false;
	*ret = (struct growth_onset){ .basis = GROWTH_BY_READS,
				      .zombies = (uint64_t)(all - live),
				      .ns_per_zombie = each,
				      .measured_over = m->dying };
	return true;
}

/* Slopes of the passes' length over zombies, of pairs that lie far enough apart; their number. */
static size_t reclaim_slopes(const struct growth_measured *m, uint64_t cgroup, double *ret,
			     size_t most, uint64_t *ret_widest)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_reclaim; i++)
		for (size_t j = i + 1; j < m->n_reclaim && n < most; j++) {
			const struct reclaim_point *a = &m->reclaim[i], *b = &m->reclaim[j];
			if (a->cgroup != cgroup || b->cgroup != cgroup)
				continue;
			uint64_t apart =
				MAX_OF(a->zombies, b->zombies) - MIN_OF(a->zombies, b->zombies);
			if (apart < FOOTPRINT_LEAST)
				continue;
			*ret_widest = MAX_OF(*ret_widest, apart);
			ret[n++] = ((double)b->p99_ns - (double)a->p99_ns) /
				   ((double)b->zombies - (double)a->zombies);
		}
	return n;
}

/* Where the passes of one cgroup, or of the host, were seen among few and among many zombies. Only
 * where it has most of the host's: the host's growth is then its own. */
static bool onset_of_reclaim(const struct growth_measured *m, struct growth_onset *ret)
{
	AUTO_FREE double *slopes = calloc(ONSET_MOST_SLOPES, sizeof(*slopes));
	const struct reclaim_point *most = NULL;
	uint64_t widest = 0;

	for (size_t i = 0; i < m->n_reclaim; i++)
		if (!most || m->reclaim[i].zombies > most->zombies)
			most = &m->reclaim[i];
	if (!slopes || !most || most->zombies < m->dying / 2)
		return false;
	size_t n = reclaim_slopes(m, most->cgroup, slopes, ONSET_MOST_SLOPES, &widest);
	if (n < ONSET_LEAST_SLOPES)
		return false;
	qsort(slopes, n, sizeof(*slopes), ascending);
	double each = slopes[n / 2];
	double left = (double)GROWTH_SLOW_NS - (double)most->p99_ns;
	/* not the zombies' doing, when passes do not get longer with them throughout */
	if (slopes[n / 4] <= 0 || left / each > 1e12)
		return false;
	double zombies = (double)most->zombies + left / each;
	*ret = (struct growth_onset){ .basis = GROWTH_BY_RECLAIM,
				      .zombies = zombies < 1 ? 1 : (uint64_t)zombies,
				      .ns_per_zombie = each,
				      .measured_over = widest };
	return true;
}

void growth_onset_of(const struct zombie_verdict *verdict, const struct growth_measured *measured,
		     struct growth_onset *ret)
{
	const char *id = verdict ? verdict->id : "";

	*ret = (struct growth_onset){ .basis = GROWTH_BY_INCIDENT, .zombies = GROWTH_INCIDENT };
	if (strcmp(id, "references") == 0)
		*ret = (struct growth_onset){ .basis = GROWTH_BY_NOTHING };
	else if (strcmp(id, "stat-reads") == 0)
		(void)onset_of_reads(measured, ret);
	else if (strcmp(id, "reclaim-and-ram") == 0)
		(void)onset_of_reclaim(measured, ret);
}

void growth_judge(const struct census_point *points, size_t n, const struct zombie_verdict *verdict,
		  const struct growth_measured *measured, uint64_t host_bytes,
		  struct footprint *ret_footprint, struct growth *ret)
{
	struct growth_onset onset;
	struct footprint f;

	footprint_measure(points, n, &f);
	uint64_t expected = verdict ? verdict->percpu_bytes + verdict->slab_bytes : 0;
	uint64_t each = f.known ? f.percpu_bytes + f.slab_bytes : expected;
	growth_onset_of(verdict, measured, &onset);
	growth_compute(points, n, each, &onset, ret);
	growth_ram(ret, n ? points[n - 1].dying : 0, each, host_bytes);
	*ret_footprint = f;
}

/* RAM per zombie as measured on generated ones: per possible core, and slab. */
static const struct {
	unsigned from; /* major << 8 | minor */
	unsigned percpu, slab;
} footprints[] = {
	{ 5 << 8 | 0, 2690, 9400 },
	{ 5 << 8 | 9, 3130, 11800 },
	{ 6 << 8 | 0, 1990, 14800 },
	{ 6 << 8 | 12, 2090, 13600 },
};

int zombie_verdict_of(const char *kernel, bool v1, unsigned possible_cpus,
		      struct zombie_verdict *ret)
{
	uint64_t major, minor;
	const char *p = kernel;

	if (text_take_u64(&p, &major) < 0 || *p++ != '.' || text_take_u64(&p, &minor) < 0 ||
	    major > 255 || minor > 255)
		return -1;
	unsigned version = (unsigned)(major << 8 | minor);
	*ret = (struct zombie_verdict){ 0 };
	for (size_t i = 0; i < ARRAY_LEN(footprints); i++) {
		if (version < footprints[i].from)
			continue;
		ret->percpu_bytes = (uint64_t)footprints[i].percpu * possible_cpus;
		ret->slab_bytes = footprints[i].slab;
	}
	if (version >= (7 << 8 | 1)) {
		ret->id = "references";
		ret->text = "this kernel hands the pages of removed cgroups to their parent: "
			    "zombies that remain "
			    "are held by references (processes, namespaces, swap, sockets); look "
			    "at those";
	} else if (v1 && version <= (5 << 8 | 7)) {
		ret->id = "stat-reads";
		ret->text = "on this kernel every read of memory.numa_stat walks all zombies times "
			    "all possible "
			    "cores (5.5 s per read at 10,000 zombies and 96 cores): whoever polls "
			    "it stalls a core";
	} else {
		ret->id = "reclaim-and-ram";
		ret->text =
			"on this kernel reads of memory.stat stay fast; zombies cost RAM and "
			"make reclaim "
			"slower (--watch measures it; elsewhere a reader under a limit took 9 to "
			"30 times as long among 20,000 that cannot be reclaimed)";
	}
	return 0;
}

int zombie_verdict_recorded(const struct census_summary *census, const char *kernel,
			    unsigned possible_cpus, struct zombie_verdict *ret)
{
	/* only cgroup v2 has a file that counts the dying */
	if (!(census->have & CENSUS_KERNEL_COUNT))
		return -1;
	return zombie_verdict_of(kernel, !census->kernel_counts_dying, possible_cpus, ret);
}

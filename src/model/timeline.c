#include "timeline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "rec_cgroups.h"
#include "rec_cpu.h"
#include "rec_pressure.h"
#include "rec_vmstat.h"
#include "timefmt.h"

enum {
	DROP_SECONDS = 3600, /* when full, so that moving the rest is rare */
	GROW_SECONDS = 600,
};

void timeline_free(struct timeline *tl)
{
	free(tl->rows);
	free(tl->cores);
	free(tl->prev);
	*tl = (struct timeline){ 0 };
}

static size_t row_bytes(size_t cpus)
{
	return sizeof(struct timeline_second) + cpus * TIMELINE_MODES;
}

static uint8_t *core_row(const struct timeline *tl, size_t second, enum timeline_mode m)
{
	return tl->cores + (second * TIMELINE_MODES + m) * tl->cpus;
}

static void clear_seconds(struct timeline *tl, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		for (int s = 0; s < TIMELINE_SERIES_END; s++)
			tl->rows[i].values[s] = NAN;
	memset(tl->cores + from * TIMELINE_MODES * tl->cpus, TIMELINE_UNKNOWN,
	       (to - from) * TIMELINE_MODES * tl->cpus);
}

/* A core with a higher number came up: widen every row. */
static int widen(struct timeline *tl, size_t cpus)
{
	struct timeline_prev *prev;
	uint8_t *cores;

	if (cpus <= tl->cpus)
		return 0;
	if (cpus > TIMELINE_MAX_CPUS)
		return -E2BIG;
	prev = calloc(cpus, sizeof(*prev));
	cores = malloc(MAX_OF(tl->cap, (size_t)1) * TIMELINE_MODES * cpus);
	if (!prev || !cores) {
		free(prev);
		free(cores);
		return -ENOMEM;
	}
	memset(cores, TIMELINE_UNKNOWN, tl->cap * TIMELINE_MODES * cpus);
	for (size_t i = 0; i < tl->seconds * TIMELINE_MODES && tl->cpus; i++)
		memcpy(cores + i * cpus, tl->cores + i * tl->cpus, tl->cpus);
	if (tl->cpus)
		memcpy(prev, tl->prev, tl->cpus * sizeof(*prev));
	free(tl->cores);
	free(tl->prev);
	tl->cores = cores;
	tl->prev = prev;
	tl->cpus = cpus;
	return 0;
}

static void drop_oldest(struct timeline *tl, size_t n)
{
	n = MIN_OF(n, tl->seconds);
	tl->seconds -= n;
	tl->first_s += n;
	memmove(tl->rows, tl->rows + n, tl->seconds * sizeof(*tl->rows));
	memmove(tl->cores, tl->cores + n * TIMELINE_MODES * tl->cpus,
		tl->seconds * TIMELINE_MODES * tl->cpus);
}

static int grow(struct timeline *tl, size_t want)
{
	size_t cap = MAX_OF(want + GROW_SECONDS, tl->cap + tl->cap / 2);
	struct timeline_second *rows;
	uint8_t *cores;

	if (want <= tl->cap)
		return 0;
	rows = realloc(tl->rows, cap * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	tl->rows = rows;
	cores = realloc(tl->cores, cap * TIMELINE_MODES * MAX_OF(tl->cpus, (size_t)1));
	if (!cores)
		return -ENOMEM;
	tl->cores = cores;
	tl->cap = cap;
	return 0;
}

/* The row of a second, made when it is new; NULL: out of memory, or older than what is kept. */
static struct timeline_second *row_of(struct timeline *tl, uint64_t second)
{
	size_t most = TIMELINE_MAX_BYTES / row_bytes(tl->cpus), index;

	if (tl->seconds && second >= tl->first_s + tl->seconds + most)
		tl->seconds = 0; /* a jump past everything: start anew */
	if (!tl->seconds)
		tl->first_s = second;
	if (second < tl->first_s)
		return NULL;
	index = second - tl->first_s;
	if (index >= most) {
		drop_oldest(tl, MAX_OF(index - most + 1, (size_t)DROP_SECONDS));
		index = second - tl->first_s;
	}
	if (grow(tl, index + 1) < 0)
		return NULL;
	if (index >= tl->seconds) {
		clear_seconds(tl, tl->seconds, index + 1);
		tl->seconds = index + 1;
	}
	return &tl->rows[index];
}

static uint64_t rise(uint64_t before, uint64_t now)
{
	return now > before ? now - before : 0; /* idle and iowait may step back */
}

static uint8_t percent_byte(uint64_t part, uint64_t whole)
{
	uint64_t p = whole ? (100 * part + whole / 2) / whole : 0;
	return (uint8_t)MIN_OF(p, (uint64_t)100);
}

static struct timeline_prev cpu_times(const struct rec_cpu *c)
{
	struct timeline_prev t = {
		.sys = c->sys, .soft = c->irq + c->softirq, .steal = c->steal, .known = true
	};
	/* guest is inside usr, as the kernel counts */
	t.busy = c->usr + c->nice + t.sys + t.soft + t.steal;
	t.total = t.busy + c->idle + c->iowait;
	return t;
}

/* A core's line that lacks one of these tells nothing of its time. */
static bool cpu_usable(const struct rec_cpu *c)
{
	const uint64_t least = REC_CPU_ID | REC_CPU_USR | REC_CPU_SYS | REC_CPU_IDLE;

	return (c->have & least) == least;
}

static void feed_cores(struct timeline *tl, const struct tick *t, struct timeline_second *row)
{
	const struct rec_rows *rows = &t->rows[REC_CPU];
	size_t second = (size_t)(row - tl->rows);
	uint64_t all_busy = 0, all_total = 0;

	for (size_t i = 0; i < rows->len; i++) {
		const struct rec_cpu *c = TICK_ROW(t, REC_CPU, rec_cpu, i);
		struct timeline_prev now = cpu_times(c), *before;
		uint64_t total;
		uint8_t busy;

		if (!cpu_usable(c) || c->cpu >= tl->cpus)
			continue;
		before = &tl->prev[c->cpu];
		total = rise(before->total, now.total);
		if (before->known && total) {
			busy = percent_byte(rise(before->busy, now.busy), total);
			core_row(tl, second, TIMELINE_BUSY)[c->cpu] = busy;
			core_row(tl, second, TIMELINE_SYS)[c->cpu] =
				percent_byte(rise(before->sys, now.sys), total);
			core_row(tl, second, TIMELINE_SOFT)[c->cpu] =
				percent_byte(rise(before->soft, now.soft), total);
			core_row(tl, second, TIMELINE_STEAL)[c->cpu] =
				percent_byte(rise(before->steal, now.steal), total);
			all_busy += rise(before->busy, now.busy);
			all_total += total;
			if (!(row->values[TIMELINE_HOTTEST] >= busy)) {
				row->values[TIMELINE_HOTTEST] = busy;
				row->values[TIMELINE_HOTTEST_CPU] = (float)c->cpu;
			}
		}
		*before = now;
	}
	if (all_total)
		row->values[TIMELINE_HOST_BUSY] = 100.0f * (float)all_busy / (float)all_total;
}

static void feed_memory(struct timeline *tl, const struct tick *t, struct timeline_second *row,
			struct timeline_second *rates)
{
	double elapsed = (double)rise(tl->prev_mono_ns, t->mono_ns) / 1e9;

	if (t->rows[REC_CGROUPS].len) {
		const struct rec_cgroups *c = TICK_ROW(t, REC_CGROUPS, rec_cgroups, 0);
		if (c->have & REC_CGROUPS_TRACKED)
			row->values[TIMELINE_TRACKED] = (float)c->tracked;
		if (c->have & REC_CGROUPS_LIVE)
			row->values[TIMELINE_LIVE] = (float)c->live;
		if (c->have & REC_CGROUPS_DYING)
			row->values[TIMELINE_DYING] = (float)c->dying;
	}
	for (size_t i = 0; i < t->rows[REC_PRESSURE].len; i++) {
		const struct rec_pressure *p = TICK_ROW(t, REC_PRESSURE, rec_pressure, i);
		if (p->resource <= PRESSURE_IO && p->have & REC_PRESSURE_SOME_AVG10)
			row->values[TIMELINE_PSI_CPU + p->resource] = (float)p->some_avg10 / 100;
	}
	if (t->rows[REC_VMSTAT].len) {
		const struct rec_vmstat *v = TICK_ROW(t, REC_VMSTAT, rec_vmstat, 0);
		if (tl->prev_reclaim && elapsed > 0) {
			rates->values[TIMELINE_SCAN_DIRECT] =
				(float)((double)rise(tl->prev_direct, v->pgscan_direct) / elapsed);
			rates->values[TIMELINE_SCAN_KSWAPD] =
				(float)((double)rise(tl->prev_kswapd, v->pgscan_kswapd) / elapsed);
		}
		tl->prev_direct = v->pgscan_direct;
		tl->prev_kswapd = v->pgscan_kswapd;
		tl->prev_reclaim =
			v->have & REC_VMSTAT_PGSCAN_DIRECT && v->have & REC_VMSTAT_PGSCAN_KSWAPD;
	}
	tl->prev_mono_ns = t->mono_ns;
}

/* Rates are of the time before the tick: those of a tick on a whole second belong to the second
 * that ends there, where a profile has its samples. */
static struct timeline_second *rates_row(struct timeline *tl, const struct tick *t,
					 struct timeline_second *own)
{
	uint64_t passed = rise(tl->prev_real_ns, t->real_ns);
	uint64_t middle_s = (t->real_ns - MIN_OF(passed, NS_PER_S) / 2) / NS_PER_S;

	return middle_s < tl->first_s || middle_s >= tl->first_s + tl->seconds
		       ? own
		       : &tl->rows[middle_s - tl->first_s];
}

int timeline_feed(struct timeline *tl, const struct tick *t)
{
	struct timeline_second *row;
	size_t cpus = 0;
	int r;

	for (size_t i = 0; i < t->rows[REC_CPU].len; i++) {
		const struct rec_cpu *c = TICK_ROW(t, REC_CPU, rec_cpu, i);
		if (c->cpu < TIMELINE_MAX_CPUS)
			cpus = MAX_OF(cpus, (size_t)c->cpu + 1);
	}
	r = widen(tl, cpus);
	if (r < 0)
		return r;
	/* a restart of the host: no rate across it */
	if (t->mono_ns < tl->prev_mono_ns) {
		for (size_t i = 0; i < tl->cpus; i++)
			tl->prev[i].known = false;
		tl->prev_reclaim = false;
	}
	row = row_of(tl, t->real_ns / NS_PER_S);
	if (!row)
		return t->real_ns / NS_PER_S < tl->first_s ? 0 : -ENOMEM;
	struct timeline_second *rates = rates_row(tl, t, row);
	feed_cores(tl, t, rates);
	feed_memory(tl, t, row, rates);
	tl->prev_real_ns = t->real_ns;
	return 0;
}

const char *timeline_series_name(enum timeline_series s)
{
	static const char *const names[TIMELINE_SERIES_END] = {
		"busy",    "hottest",    "hottest_cpu", "tracked",     "live",        "dying",
		"psi_cpu", "psi_memory", "psi_io",      "scan_direct", "scan_kswapd",
	};
	return names[s];
}

const char *timeline_mode_name(enum timeline_mode m)
{
	static const char *const names[TIMELINE_MODES] = { "busy", "sys", "soft", "steal" };
	return names[m];
}

/* The rows [*ret_a, *ret_b) that step i covers. */
static void step_rows(const struct timeline *tl, uint64_t from_s, uint64_t step_s, size_t i,
		      size_t *ret_a, size_t *ret_b)
{
	uint64_t a = from_s + i * step_s, b = a + step_s, end = tl->first_s + tl->seconds;

	a = MAX_OF(a, tl->first_s);
	b = MIN_OF(b, end);
	*ret_a = a < b ? a - tl->first_s : 0;
	*ret_b = a < b ? b - tl->first_s : 0;
}

void timeline_series_read(const struct timeline *tl, enum timeline_series s, uint64_t from_s,
			  uint64_t step_s, size_t n, double *ret)
{
	/* the hottest core's number belongs to the hottest second, it is no height */
	enum timeline_series by = s == TIMELINE_HOTTEST_CPU ? TIMELINE_HOTTEST : s;

	for (size_t i = 0; i < n; i++) {
		size_t a, b;
		float best = NAN;

		ret[i] = NAN;
		step_rows(tl, from_s, step_s, i, &a, &b);
		for (; a < b; a++) {
			float v = tl->rows[a].values[by];
			if (!isnan(v) && !(best >= v)) {
				best = v;
				ret[i] = tl->rows[a].values[s];
			}
		}
	}
}

void timeline_core_read(const struct timeline *tl, enum timeline_mode m, size_t cpu,
			uint64_t from_s, uint64_t step_s, size_t n, uint8_t *ret)
{
	for (size_t i = 0; i < n; i++) {
		size_t a, b;

		ret[i] = TIMELINE_UNKNOWN;
		step_rows(tl, from_s, step_s, i, &a, &b);
		for (; a < b && cpu < tl->cpus; a++) {
			uint8_t v = core_row(tl, a, m)[cpu];
			if (v != TIMELINE_UNKNOWN && (ret[i] == TIMELINE_UNKNOWN || v > ret[i]))
				ret[i] = v;
		}
	}
}

#include "heat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "map.h"

void heat_free(struct heat *h)
{
	free(h->counts);
	free(h->core_ids);
	free(h->core_busy);
	free(h->core_holes);
	*h = (struct heat){ 0 };
}

static int compare_ids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

/* Rows of all cores that were ever accounted for, by number. */
static int init_cores(struct heat *h, const struct profile_footer *f)
{
	AUTO_MAP_U64 struct map_u64 seen = { 0 };
	bool is_new;

	h->core_ids = calloc(f->cores.len ? f->cores.len : 1, sizeof(*h->core_ids));
	if (!h->core_ids)
		return -ENOMEM;
	for (size_t i = 0; i < f->cores.len; i++) {
		if (!map_u64_put(&seen, f->cores.items[i].cpu, &is_new))
			return -ENOMEM;
		if (is_new)
			h->core_ids[h->n_cores++] = f->cores.items[i].cpu;
	}
	if (h->n_cores)
		qsort(h->core_ids, h->n_cores, sizeof(*h->core_ids), compare_ids);
	size_t cells = h->n_cores * h->seconds;
	h->core_busy = malloc(cells ? cells : 1);
	h->core_holes = calloc(cells ? cells : 1, sizeof(*h->core_holes));
	if (!h->core_busy || !h->core_holes)
		return -ENOMEM;
	memset(h->core_busy, (int)HEAT_UNKNOWN, cells);
	return 0;
}

static void fill_cores(struct heat *h, const struct profile_footer *f)
{
	for (size_t i = 0; i < f->cores.len; i++) {
		const struct profile_core_second *c = &f->cores.items[i];
		uint64_t second = c->second - h->start_s;
		const uint32_t *id = bsearch(&c->cpu, h->core_ids, h->n_cores, sizeof(*h->core_ids),
					     compare_ids);
		if (c->second < h->start_s || second >= h->seconds || !id)
			continue;
		size_t cell = (size_t)(id - h->core_ids) * h->seconds + second;
		uint32_t busy = c->expected ? 100 * c->busy / c->expected : 0;
		h->core_busy[cell] = (uint8_t)MIN_OF(busy, 100u);
		h->core_holes[cell] += c->lost + c->missing;
		h->lost += c->lost;
		h->missing += c->missing;
	}
}

static int init(struct heat *h, uint64_t from_s, uint64_t to_s)
{
	*h = (struct heat){ .start_s = from_s, .rows = PROFILE_HEAT_ROWS };
	if (to_s < from_s || to_s - from_s > HEAT_MAX_SECONDS)
		return -ERANGE;
	h->seconds = to_s - from_s;
	h->counts = calloc(h->seconds * h->rows + 1, sizeof(*h->counts));
	return h->counts ? 0 : -ENOMEM;
}

static void add(struct heat *h, uint64_t second, unsigned row, uint32_t count)
{
	uint32_t *cell = &h->counts[(second - h->start_s) * h->rows + row];

	*cell += count;
	h->samples += count;
	if (*cell > h->most)
		h->most = *cell;
}

int heat_build(const struct profile_footer *f, uint64_t from_s, uint64_t to_s, struct heat *ret)
{
	struct heat h;
	int r = init(&h, from_s, to_s);

	if (r == 0)
		r = init_cores(&h, f);
	if (r < 0) {
		heat_free(&h);
		return r;
	}
	for (size_t i = 0; i < f->heat.len; i++) {
		const struct profile_heat_second *s = &f->heat.items[i];
		if (s->second < from_s || s->second >= to_s)
			continue;
		for (unsigned row = 0; row < h.rows; row++)
			add(&h, s->second, row, s->rows[row]);
	}
	fill_cores(&h, f);
	h.lost += f->lost;
	h.missing += f->missing;
	*ret = h;
	return 0;
}

int heat_build_samples(const struct profile *p, uint64_t from_s, uint64_t to_s, struct heat *ret)
{
	struct profile_footer f = { 0 };
	int r = 0;

	for (size_t i = 0; i < p->samples.len; i++)
		profile_footer_count(&f, p->samples.items[i].time_ns);
	for (size_t i = 0; r == 0 && i < p->meta.cpu_seconds.len; i++)
		if (!profile_footer_add_core(&f, &p->meta.cpu_seconds.items[i]))
			r = -ENOMEM;
	if (r == 0)
		r = heat_build(&f, from_s, to_s, ret);
	profile_footer_free(&f);
	return r;
}

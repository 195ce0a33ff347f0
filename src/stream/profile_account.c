#include "profile_account.h"

#include "auto.h"
#include "timefmt.h"

static struct profile_account_row *row_of(struct profile_account *a, uint64_t second, uint32_t cpu)
{
	bool is_new;
	uint64_t *slot = map_u64_put(&a->index, second << 16 | (cpu & 0xffff), &is_new);

	if (!slot)
		return NULL;
	if (is_new) {
		struct profile_account_row row = { .second = second, .cpu = cpu };
		if (!vec_push(&a->rows, row)) {
			map_u64_remove(&a->index, second << 16 | (cpu & 0xffff));
			return NULL;
		}
		*slot = a->rows.len - 1;
	}
	return &a->rows.items[*slot];
}

void profile_account_sample(struct profile_account *a, uint64_t time_ns, uint32_t cpu, bool idle)
{
	struct profile_account_row *row = row_of(a, time_ns / NS_PER_S, cpu);

	if (!row)
		return;
	row->received++;
	row->received_idle += idle;
}

void profile_account_span(struct profile_account *a, uint32_t cpu, uint64_t from_ns, uint64_t to_ns,
			  double hz, double idle_share)
{
	while (from_ns < to_ns) {
		uint64_t end_ns = MIN_OF((from_ns / NS_PER_S + 1) * NS_PER_S, to_ns);
		struct profile_account_row *row = row_of(a, from_ns / NS_PER_S, cpu);
		double ticks = (double)(end_ns - from_ns) / (double)NS_PER_S * hz;
		if (!row)
			return;
		row->expected += ticks;
		if (idle_share >= 0) {
			row->idle += ticks * MIN_OF(idle_share, 1.0);
			row->idle_known = true;
		}
		from_ns = end_ns;
	}
}

void profile_account_lost(struct profile_account *a, uint64_t time_ns, uint32_t cpu, uint64_t lost)
{
	struct profile_account_row *row = row_of(a, time_ns / NS_PER_S, cpu);
	if (row)
		row->lost += (uint32_t)lost;
}

static int compare_rows(const void *a, const void *b)
{
	const struct profile_cpu_second *x = a, *y = b;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

void profile_account_take(struct profile_account *a, uint64_t second, struct profile_rows *ret)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->rows.len; i++) {
		const struct profile_account_row *r = &a->rows.items[i];
		if (r->second != second) {
			uint64_t *slot =
				map_u64_get(&a->index, r->second << 16 | (r->cpu & 0xffff));
			if (slot)
				*slot = kept;
			a->rows.items[kept++] = *r;
			continue;
		}
		struct profile_cpu_second row = {
			.second = second,
			.cpu = r->cpu,
			.expected = (uint32_t)(r->expected + 0.5),
			.received = r->received,
			.received_idle = r->received_idle,
			.lost = r->lost,
			.idle = r->idle_known ? (uint32_t)(r->idle + 0.5) : PROFILE_IDLE_UNKNOWN,
		};
		(void)vec_push(&ret->list, row);
		map_u64_remove(&a->index, second << 16 | (r->cpu & 0xffff));
	}
	a->rows.len = kept;
	vec_sort(&ret->list, compare_rows);
}

uint64_t profile_account_first(const struct profile_account *a)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < a->rows.len; i++)
		first = MIN_OF(first, a->rows.items[i].second);
	return first;
}

void profile_account_free(struct profile_account *a)
{
	vec_free(&a->rows);
	map_u64_free(&a->index);
}

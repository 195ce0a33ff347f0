/* perf writes one ring after the other; FINISHED_ROUND says that what comes later is not older than
 * the newest record of the round before. So two rounds are held and given out sorted by time. */
#include <errno.h>
#include <string.h>

#include "auto.h"
#include "perf_data_impl.h"

static bool queued_before(const struct perf_queued *a, const struct perf_queued *b)
{
	return a->time < b->time || (a->time == b->time && a->serial < b->serial);
}

/* The end of the sorted run that begins at `from`. */
static size_t order_run(const struct perf_order *o, size_t from)
{
	size_t at = from + 1;

	while (at < o->queue.len && queued_before(&o->queue.items[at - 1], &o->queue.items[at]))
		at++;
	return MIN_OF(at, o->queue.len);
}

/* Rings are sorted in themselves: merge run with run until one is left. */
static bool order_sort(struct perf_order *o)
{
	if (!o->queue.len || order_run(o, 0) == o->queue.len)
		return true;
	if (!vec_reserve(&o->sorted, o->queue.len))
		return false;
	do {
		o->sorted.len = 0;
		for (size_t a = 0; a < o->queue.len;) {
			size_t a_end = order_run(o, a), b = a_end;
			size_t b_end = b < o->queue.len ? order_run(o, b) : b;
			while (a < a_end || b < b_end) {
				bool left = a < a_end &&
					    (b >= b_end ||
					     queued_before(&o->queue.items[a], &o->queue.items[b]));
				o->sorted.items[o->sorted.len++] = o->queue.items[left ? a++ : b++];
			}
			a = b_end;
		}
		__auto_type swap = o->queue;
		memcpy(&o->queue, &o->sorted, sizeof(o->queue));
		memcpy(&o->sorted, &swap, sizeof(o->sorted));
	} while (order_run(o, 0) != o->queue.len);
	return true;
}

/* Give out what is not newer than until_ns; keep the rest. */
static int order_give(struct perf_order *o, uint64_t until_ns, perf_give_fn give, void *arg,
		      struct perf_data *d, struct err *err)
{
	size_t n = 0;

	if (!order_sort(o))
		return err_set(err, -ENOMEM, "out of memory");
	for (; n < o->queue.len && o->queue.items[n].time <= until_ns; n++) {
		const struct perf_queued *q = &o->queue.items[n];
		if (q->time < o->given_ns)
			d->n_late++;
		else
			o->given_ns = q->time;
		int r = give(arg, o->bytes.data + q->offset, q->len, err);
		if (r)
			return r;
	}
	struct buf kept = o->spare;
	buf_clear(&kept);
	o->spare = (struct buf){ 0 };
	for (size_t i = n; i < o->queue.len; i++) {
		struct perf_queued q = o->queue.items[i];
		size_t offset = kept.len;
		buf_add(&kept, o->bytes.data + q.offset, q.len);
		q.offset = offset;
		o->queue.items[i - n] = q;
	}
	if (kept.failed) {
		buf_free(&kept);
		return err_set(err, -ENOMEM, "out of memory");
	}
	o->queue.len -= n;
	o->spare = o->bytes;
	o->bytes = kept;
	return 0;
}

int perf_order_add(struct perf_order *o, uint64_t time, const void *record, size_t len,
		   perf_give_fn give, void *arg, struct perf_data *d, struct err *err)
{
	/* No round ends: half of what is held goes, or a hostile file would fill the memory. */
	if (o->bytes.len + len > o->most_bytes && o->queue.len) {
		if (!order_sort(o))
			return err_set(err, -ENOMEM, "out of memory");
		int r = order_give(o, o->queue.items[o->queue.len / 2].time, give, arg, d, err);
		if (r)
			return r;
	}
	struct perf_queued q = {
		.time = time, .serial = o->serial++, .offset = o->bytes.len, .len = (uint32_t)len
	};
	buf_add(&o->bytes, record, len);
	if (o->bytes.failed || !vec_push(&o->queue, q))
		return err_set(err, -ENOMEM, "out of memory");
	if (time > o->newest)
		o->newest = time;
	return 0;
}

int perf_order_round(struct perf_order *o, perf_give_fn give, void *arg, struct perf_data *d,
		     struct err *err)
{
	int r = order_give(o, o->round_newest, give, arg, d, err);
	o->round_newest = o->newest;
	return r;
}

int perf_order_until(struct perf_order *o, uint64_t until_ns, perf_give_fn give, void *arg,
		     struct perf_data *d, struct err *err)
{
	return order_give(o, until_ns, give, arg, d, err);
}

int perf_order_end(struct perf_order *o, perf_give_fn give, void *arg, struct perf_data *d,
		   struct err *err)
{
	return order_give(o, UINT64_MAX, give, arg, d, err);
}

void perf_order_free(struct perf_order *o)
{
	vec_free(&o->queue);
	vec_free(&o->sorted);
	buf_free(&o->bytes);
	buf_free(&o->spare);
}

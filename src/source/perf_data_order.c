/* perf writes one ring after the other; FINISHED_ROUND says that what comes later is not older than
 * the newest record of the round before. So two rounds are held and given out sorted by time. */
#include <errno.h>
#include <string.h>

#include "perf_data_impl.h"

static int queued_compare(const void *a, const void *b)
{
	const struct perf_queued *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->serial < y->serial ? -1 : x->serial > y->serial;
}

/* Give out what is not newer than until_ns; keep the rest. */
static int order_give(struct perf_order *o, uint64_t until_ns, perf_give_fn give, void *arg,
		      struct perf_data *d, struct err *err)
{
	size_t n = 0;

	vec_sort(&o->queue, queued_compare);
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
	struct buf kept = { 0 };
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
	if (o->queue.len == 0) {
		buf_free(&kept);
		buf_clear(&o->bytes);
		return 0;
	}
	buf_free(&o->bytes);
	o->bytes = kept;
	return 0;
}

int perf_order_add(struct perf_order *o, uint64_t time, const void *record, size_t len,
		   perf_give_fn give, void *arg, struct perf_data *d, struct err *err)
{
	/* No round ends: half of what is held goes, or a hostile file would fill the memory. */
	if (o->bytes.len + len > o->most_bytes && o->queue.len) {
		vec_sort(&o->queue, queued_compare);
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

int perf_order_end(struct perf_order *o, perf_give_fn give, void *arg, struct perf_data *d,
		   struct err *err)
{
	return order_give(o, UINT64_MAX, give, arg, d, err);
}

void perf_order_free(struct perf_order *o)
{
	vec_free(&o->queue);
	buf_free(&o->bytes);
}

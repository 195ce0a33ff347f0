#include "hot.h"

#include <errno.h>

#include "timefmt.h"

/* Sums until a span ends, means afterwards. */
static int hot_close(struct hot *h, size_t at)
{
	struct hot_span s = h->open.items[at];
	double n = s.samples ? s.samples : 1;

	s.busy /= n;
	s.usr /= n;
	s.sys /= n;
	s.soft /= n;
	s.host_busy /= n;
	h->open.items[at] = h->open.items[--h->open.len];
	return vec_push(&h->done, s) ? 0 : -ENOMEM;
}

int hot_end(struct hot *h)
{
	while (h->open.len) {
		int r = hot_close(h, h->open.len - 1);
		if (r < 0)
			return r;
	}
	return 0;
}

static struct hot_span *hot_find(struct hot *h, uint64_t cpu)
{
	vec_foreach (&h->open, it)
		if (it->cpu == cpu)
			return it;
	return NULL;
}

static int hot_add(struct hot *h, const struct rates *r, const struct rate_cpu *c)
{
	struct hot_span *s = hot_find(h, c->cpu);

	if (!s) {
		struct hot_span fresh = { .cpu = c->cpu, .from_ns = r->from_ns };
		if (!vec_push(&h->open, fresh))
			return -ENOMEM;
		s = &h->open.items[h->open.len - 1];
	}
	s->to_ns = r->to_ns;
	s->busy += rate_cpu_busy(c);
	s->usr += c->usr + c->nice + c->guest + c->gnice;
	s->sys += c->sys;
	s->soft += c->soft + c->irq;
	s->host_busy += rate_cpu_busy(&r->all);
	s->samples++;
	return 0;
}

int hot_feed(struct hot *h, const struct rates *r)
{
	bool hidden = rate_cpu_busy(&r->all) < RATE_HIDDEN_PERCENT;
	int status = 0;

	vec_foreach (&r->cpus, c)
		if (status == 0 && hidden && rate_cpu_busy(c) >= RATE_SATURATED_PERCENT)
			status = hot_add(h, r, c);
	for (size_t i = 0; status == 0 && i < h->open.len;) {
		if (h->open.items[i].to_ns != r->to_ns)
			status = hot_close(h, i);
		else
			i++;
	}
	return status;
}

void hot_free(struct hot *h)
{
	vec_free(&h->open);
	vec_free(&h->done);
}

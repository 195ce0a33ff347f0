/* Facts from events: NIC resets with their proof, OOM kills, pod weights, the flood of the log. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "collect.h"
#include "episode.h"
#include "events_proof.h"
#include "kmsg_batch.h"
#include "text.h"
#include "timefmt.h"

/* A flood lasts at least so long; a burst at a mount or a crash does not. */
static const uint64_t collect_log_bin_ns = 10 * NS_PER_S;
enum { COLLECT_MOST_RESETS = 16, COLLECT_MOST_OOMS = 32 };

struct collect_events {
	struct collected *c;
	uint64_t from_ns;
	struct arena arena;
	VEC(struct rec_event) resets; /* strings in the arena */
};

static int field_number(const struct rec_event *e, const char *key)
{
	const char *text = rec_event_field(e, key);
	uint64_t n;

	return text && text_take_u64(&text, &n) == 0 && n < INT32_MAX ? (int)n : -1;
}

/* An event lives only during the walk: encode and decode is a deep copy. */
static int keep_reset(struct collect_events *k, const struct rec_event *event)
{
	AUTO_BUF struct buf bytes = { 0 };
	struct rec_event copy;

	rec_event_encode(&bytes, event);
	if (bytes.failed || rec_event_decode(bytes.data, bytes.len, &k->arena, &copy) < 0 ||
	    !vec_push(&k->resets, copy))
		return -ENOMEM;
	return 0;
}

static int keep_oom(struct collected *c, const struct rec_event *e)
{
	const char *killed = rec_event_field(e, "killed"),
		   *victim = rec_event_field(e, "victim_comm");
	const char *memcg = rec_event_field(e, "memcg");

	if (!killed || strcmp(killed, "true") != 0)
		return 0;
	struct fact_oom oom = {
		.victim = collect_text(c, victim ? victim : "a process"),
		.cgroup = collect_text(c, memcg),
		.time_ns = e->time_ns,
		.trusted = e->trusted,
		.memcg = memcg != NULL,
	};
	return vec_push(&c->facts.ooms, oom) ? 0 : -ENOMEM;
}

/* What needs no proof from the recording around it. */
int collect_event(struct collected *c, const struct rec_event *e)
{
	struct facts *f = &c->facts;

	if ((strcmp(e->id, "oom") == 0 || strcmp(e->id, "oom-kill") == 0) &&
	    f->ooms.len < COLLECT_MOST_OOMS)
		return keep_oom(c, e);
	if (strcmp(e->id, "rt-throttling") == 0)
		f->rt_throttled |= e->trusted;
	if (strcmp(e->id, "kubepods-weight") == 0) {
		const char *ratio = rec_event_field(e, "ratio");
		f->kubepods_weight_ratio = ratio ? strtod(ratio, NULL) : 0;
		f->have |= FACT_WEIGHT;
	}
	return 0;
}

static int take_event(void *arg, const struct rec_event *e)
{
	struct collect_events *k = arg;

	/* a ring that is read late brings events of long ago */
	if (e->time_ns < k->from_ns)
		return 0;
	if (strcmp(e->id, "net-driver-reset") == 0 && k->resets.len < COLLECT_MOST_RESETS)
		return keep_reset(k, e);
	return collect_event(k->c, e);
}

static enum fact_starved starved_of(enum queue_verdict verdict)
{
	switch (verdict) {
	case QUEUE_STARVED_CORE:
		return STARVED_CORE;
	case QUEUE_LOST_INTERRUPT:
		return STARVED_LOST_INTERRUPT;
	case QUEUE_DEVICE_FAULT:
		return STARVED_DEVICE;
	case QUEUE_CANNOT_TELL:
		break;
	}
	return STARVED_UNKNOWN;
}

int collect_reset(struct collected *c, const struct rec_event *e, const struct queue_proof *proof)
{
	const char *iface = rec_event_field(e, "iface"), *loop = rec_event_field(e, "loop");
	char key[16];

	rec_event_key(e, key);
	struct fact_reset reset = {
		.iface = collect_text(c, iface ? iface : "a NIC"),
		.driver = collect_text(c, rec_event_field(e, "driver")),
		.cause = collect_text(c, rec_event_field(e, "cause")),
		.event = collect_text(c, key),
		.queue = field_number(e, "queue"),
		.irq = proof && proof->have_irq ? (int)proof->irq : -1,
		.cpu = proof && proof->have_cpu ? (int)proof->cpu : -1,
		.from_ns = proof ? proof->from_ns : e->time_ns,
		.time_ns = e->time_ns,
		.trusted = e->trusted,
		.injected = e->injected,
		.loop = loop && strcmp(loop, "true") == 0,
		.starved = proof ? starved_of(proof->verdict) : STARVED_UNKNOWN,
		.evidence = proof ? collect_text(c, proof->why) : NULL,
	};
	if (proof)
		c->facts.have |= FACT_NET;
	return vec_push(&c->facts.resets, reset) ? 0 : -ENOMEM;
}

static int prove_reset(const struct collect_window *w, struct collected *c,
		       const struct rec_event *e)
{
	struct queue_proof proof = { 0 };

	return collect_reset(c, e, events_prove(w->stream, e, &proof) ? &proof : NULL);
}

/* Lines of the kernel by their own times: the ring that is read at the start is mostly of before.
 */
struct log_rate {
	uint64_t from_ns, to_ns;
	uint64_t bin, lines, marked; /* of the stretch that is being counted; marked: the lab's */
	uint64_t most, most_marked;
};

static void log_rate_add(struct log_rate *l, uint64_t real_ns, uint64_t lines, bool marked)
{
	if (real_ns < l->from_ns || real_ns >= l->to_ns)
		return;
	uint64_t bin = (real_ns - l->from_ns) / collect_log_bin_ns;
	if (bin != l->bin)
		l->lines = l->marked = 0;
	l->bin = bin;
	l->lines += lines;
	l->marked += marked ? lines : 0;
	if (l->lines >= l->most) {
		l->most = l->lines;
		l->most_marked = l->marked;
	}
}

/* "12,seq,usec,-;text": the facility is all but the three lowest bits of the first number. */
bool collect_line_is_lab(const char *raw, size_t len)
{
	const char *text = memchr(raw, ';', len), *p = raw;
	uint64_t priority;

	if (!text || text_take_u64(&p, &priority) < 0)
		return false;
	text++;
	return episode_lab_line((unsigned)(priority >> 3), text, len - (size_t)(text - raw));
}

static void log_rate_batch(struct log_rate *l, struct kmsg_batch *batch)
{
	const char *raw;
	uint64_t real_ns;
	size_t len;

	while (kmsg_batch_next(batch, &real_ns, &raw, &len) > 0)
		log_rate_add(l, real_ns, 1, collect_line_is_lab(raw, len));
}

/* Was the kernel's log recorded at all, and how fast did it grow at its worst? */
static void collect_log_rate(const struct collect_window *w, struct collected *c)
{
	struct store_reader *reader = stream_store(w->stream);
	struct log_rate rate = { .from_ns = c->facts.from_ns, .to_ns = w->to_ns };
	struct frame frame;
	uint64_t lost = 0;
	bool any = false;

	if (store_reader_seek(reader, w->from_ns, w->to_ns, FRAME_BIT(FRAME_KMSG), NULL) < 0)
		return;
	while (store_reader_next(reader, &frame, NULL) > 0) {
		struct kmsg_batch batch;
		if (kmsg_batch_open(&batch, frame.payload, frame.len) < 0)
			continue;
		/* a flood that outruns the reader leaves a gap in the numbers */
		if (any && batch.lost > lost)
			log_rate_add(&rate, frame.time_ns, batch.lost - lost, false);
		lost = batch.lost;
		any = true;
		log_rate_batch(&rate, &batch);
	}
	if (!any || rate.to_ns <= rate.from_ns)
		return;
	c->facts.have |= FACT_KMSG;
	c->facts.log_injected = rate.most_marked * 2 > rate.most;
	c->facts.log_lines_per_s =
		(double)rate.most /
		((double)MIN_OF(collect_log_bin_ns, rate.to_ns - rate.from_ns) / 1e9);
}

int collect_events(const struct collect_window *w, struct collected *c, struct err *err)
{
	struct collect_events k = { .c = c, .from_ns = w->from_ns };

	collect_log_rate(w, c);
	int r = stream_each_event(w->stream, w->from_ns, w->to_ns, take_event, &k, err);
	for (size_t i = 0; r >= 0 && i < k.resets.len; i++)
		r = prove_reset(w, c, &k.resets.items[i]);
	if (c->facts.resets.len)
		c->facts.have |= FACT_KMSG;
	else if (c->facts.have & FACT_KMSG)
		c->facts.have |= FACT_NET; /* no reset: there is no queue to ask about */
	vec_free(&k.resets);
	arena_free(&k.arena);
	if (r < 0)
		return r;
	return c->facts.have & FACT_KMSG
		       ? 0
		       : err_set(err, -ENODATA, "the kernel's log was not recorded");
}

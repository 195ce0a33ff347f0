#include "record_events_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "episode.h"
#include "kmsg.h"
#include "kmsg_batch.h"
#include "kthread_wait.h"
#include "net_counters.h"
#include "note_spool.h"
#include "pattern.h"
#include "store_reader.h"
#include "text.h"
#include "timefmt.h"
#include "xmit_timeout.h"

enum {
	EVENTS_RECORDS_A_TURN = 512, /* of the kernel log, before others get their turn */
	EVENTS_LOOK_BACK_S = 180,    /* of the recording, for how far the ring was read */
	EVENTS_FIND_EVERY = 60,      /* ticks between two searches for network devices */
};

#define EVENTS_MOST_BATCH ((size_t)256 << 10)
#define EVENTS_FLUSH_NS   (100 * NS_PER_MS)

static void events_put(struct events_state *s, const struct rec_event *event)
{
	int r = recorder_put_event(s->writer, event, s->err);
	if (r < 0)
		s->failed = r;
}

static void events_emit(void *arg, const struct rec_event *event, uint64_t order)
{
	struct events_state *s = arg;

	(void)order;
	s->emitted = true;
	events_put(s, event);
}

/* An event of our own making, at this second. */
void events_tell(struct events_state *s, enum event_source source, enum event_severity severity,
		 const char *id, const char *text, const struct rec_event_field *fields,
		 size_t n_fields)
{
	struct rec_event event = {
		.time_ns = s->now_ns,
		.end_ns = s->now_ns,
		.source = source,
		.severity = severity,
		.trusted = true, /* read from the kernel's own files */
		.count = 1,
		.id = id,
		.text = text,
		.fields = fields,
		.n_fields = n_fields,
	};
	events_put(s, &event);
}

/* How far an earlier recorder of the same boot has read. */
static void events_find_last_seq(struct events_state *s)
{
	struct store_reader *reader;
	struct frame frame;
	uint64_t from, to;

	if (!*s->store_dir || store_reader_open(s->store_dir, &reader, NULL) < 0)
		return;
	if (store_reader_span(reader, &from, &to, NULL) >= 0) {
		uint64_t start =
			to > EVENTS_LOOK_BACK_S * NS_PER_S ? to - EVENTS_LOOK_BACK_S * NS_PER_S : 0;
		if (store_reader_seek(reader, start, UINT64_MAX, FRAME_BIT(FRAME_KMSG), NULL) >= 0)
			while (store_reader_next(reader, &frame, NULL) > 0) {
				struct kmsg_batch b;
				if (kmsg_batch_open(&b, frame.payload, frame.len) == 0 &&
				    b.boot_id_len == strlen(s->boot_id) &&
				    memcmp(b.boot_id, s->boot_id, b.boot_id_len) == 0)
					s->skip_to_seq = MAX_OF(s->skip_to_seq, b.last_seq + 1);
			}
	}
	store_reader_close(reader);
}

static void events_close(void *state)
{
	struct events_state *s = state;

	kmsg_close(&s->kmsg);
	pattern_set_free(s->patterns);
	episodes_free(s->episodes);
	net_counters_close(&s->net);
	xmit_timeout_close(&s->xmit);
	kthread_wait_close(&s->kthreads);
	tick_free(&s->net_tick);
	tick_free(&s->cpu_tick);
	buf_free(&s->records);
	buf_free(&s->batch);
	buf_free(&s->text);
	free(s);
}

static void events_miss(struct events_state *s, const char *what)
{
	size_t n = strlen(s->missing);
	snprintf(s->missing + n, sizeof(s->missing) - n, "%s%s", n ? "; " : "", what);
}

/* Sources that a host may lack: the rest goes on without them. */
static void events_open_sources(struct events_state *s, int kmsg_fd)
{
	struct err err = { 0 };

	if (kmsg_fd > 0) {
		kmsg_attach(&s->kmsg, kmsg_fd);
		s->have_kmsg = true;
	} else if (kmsg_open(&s->kmsg, s->root, true, &err) < 0) {
		events_miss(s, err.text);
	} else {
		s->have_kmsg = true;
		events_find_last_seq(s);
	}
	if (net_counters_open(&s->net, s->root, &err) < 0)
		events_miss(s, err.text);
	else if (s->root->live && s->net.socket < 0)
		events_miss(s, "ethtool statistics: no socket");
	if (xmit_timeout_open(&s->xmit, s->root, &err) < 0)
		events_miss(s, err.text);
	if (kthread_wait_open(&s->kthreads, s->root, &err) < 0)
		events_miss(s, err.text);
}

static int events_open(void **ret_state, const struct recorder_context *context, struct err *err)
{
	const struct record_events_options *options = context->options;
	struct events_state *s = calloc(1, sizeof(*s));
	AUTO_BUF struct buf boot_id = { 0 };

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->root = context->root;
	s->say = context->say;
	s->say_arg = context->say_arg;
	s->kmsg.fd = s->net.socket = s->net.net_dev.fd = -1;
	s->cores = context->cores;
	text_copy(s->store_dir, sizeof(s->store_dir), context->store_dir ? context->store_dir : "");
	if (root_read(s->root, "proc/sys/kernel/random/boot_id", 64, &boot_id, NULL) >= 0)
		text_copy_n(s->boot_id, sizeof(s->boot_id), buf_str(&boot_id),
			    text_line_len(buf_str(&boot_id)));
	int r = pattern_set_new(NULL, NULL, &s->patterns, err);
	s->episodes = episodes_new(events_emit, s);
	if (r >= 0 &&
	    (!s->episodes || !buf_reserve(&s->records, EVENTS_MOST_BATCH) ||
	     !buf_reserve(&s->batch, EVENTS_MOST_BATCH) || !buf_reserve(&s->text, 64 << 10)))
		r = err_set(err, -ENOMEM, "out of memory");
	if (r < 0) {
		events_close(s);
		return r;
	}
	events_open_sources(s, options ? options->kmsg_fd : 0);
	*ret_state = s;
	return 0;
}

static int events_flush_batch(struct events_state *s, uint64_t time_ns)
{
	uint64_t done = s->kmsg.have_seq ? s->kmsg.next_seq : 0, open;

	/* lines of an episode that is still open are read again after a crash */
	if (episodes_oldest_tag(s->episodes, &open))
		done = MIN_OF(done, open);
	s->emitted = false;
	buf_clear(&s->batch);
	kmsg_batch_begin(&s->batch, s->boot_id, done ? done - 1 : 0, s->kmsg.lost, s->n_records);
	buf_add(&s->batch, s->records.data, s->records.len);
	int r = s->batch.failed ? err_set(s->err, -ENOMEM, "out of memory")
				: store_writer_append(s->writer, FRAME_KMSG, KMSG_BATCH_VERSION,
						      time_ns, s->batch.data, s->batch.len, s->err);
	buf_clear(&s->records);
	s->n_records = 0;
	return r;
}

/* On arrival; in a flood, where every record would be a frame, ten times a second. */
static int events_flush_due(struct events_state *s)
{
	uint64_t now = clock_real_ns();

	if (!s->n_records || (now < s->flushed_ns + EVENTS_FLUSH_NS && now >= s->flushed_ns &&
			      s->records.len < EVENTS_MOST_BATCH / 2 && !s->matched))
		return 0;
	s->flushed_ns = now;
	s->matched = false;
	/* frames are in order of their time: when they came, not when an old record was printed */
	return events_flush_batch(s, now);
}

static int events_ready(void *state, struct store_writer *w, struct err *err)
{
	struct events_state *s = state;
	struct kmsg_record record;
	int r = 0;

	s->writer = w;
	s->err = err;
	s->failed = 0;
	for (unsigned i = 0; i < EVENTS_RECORDS_A_TURN; i++) {
		r = kmsg_next(&s->kmsg, &record, err);
		if (r <= 0)
			break;
		if (record.seq < s->skip_to_seq)
			continue;
		kmsg_batch_add(&s->records, record.real_ns, s->kmsg.raw, s->kmsg.raw_len);
		s->n_records++;
		s->matched |= episodes_record(s->episodes, s->patterns, &record);
		if (s->records.len > EVENTS_MOST_BATCH - 2 * KMSG_RECORD_MAX)
			break;
	}
	if (r == -ENODEV || r == -EBADF) /* gone for good */
		s->have_kmsg = false;
	int flushed = events_flush_due(s);
	return r < 0 ? r : flushed < 0 ? flushed : s->failed;
}

static int events_fd(void *state)
{
	struct events_state *s = state;
	return s->have_kmsg ? s->kmsg.fd : -1;
}

static void events_net_change(void *arg, const struct net_change *c)
{
	struct events_state *s = arg;
	char text[200], before[24], now[24], queue[16] = "", irq[24] = "";
	struct rec_event_field fields[6] = { { "iface", c->device->name },
					     { "before", before },
					     { "now", now } };
	size_t n = 3;

	snprintf(before, sizeof(before), "%" PRIu64, c->before);
	snprintf(now, sizeof(now), "%" PRIu64, c->now);
	if (c->queue) {
		snprintf(queue, sizeof(queue), "%u", c->queue->queue);
		fields[n++] = (struct rec_event_field){ "queue", queue };
		if (c->queue->have_irq) {
			snprintf(irq, sizeof(irq), "%" PRIu64, c->queue->irq);
			fields[n++] = (struct rec_event_field){ "irq", irq };
		}
	}
	switch (c->kind) {
	case NET_CHANGE_TX_TIMEOUT:
		snprintf(text, sizeof(text),
			 "%s: Tx queue %s timed out (%s watchdog hits since boot)", c->device->name,
			 queue, now);
		events_tell(s, EVENT_NET, EVENT_CRIT, "net-queue-timeout", text, fields, n);
		break;
	case NET_CHANGE_CARRIER:
		snprintf(text, sizeof(text), "%s: the carrier changed %" PRIu64 " times",
			 c->device->name, c->now - c->before);
		events_tell(s, EVENT_NET, EVENT_WARN, "net-carrier", text, fields, n);
		break;
	case NET_CHANGE_STAT:
		fields[n++] = (struct rec_event_field){ "counter", c->stat->name };
		snprintf(text, sizeof(text), "%s: %s %s, %" PRIu64 " more", c->device->name,
			 c->stat->name, now, c->now - c->before);
		events_tell(s, EVENT_NET, EVENT_WARN, "net-counter", text, fields, n);
		break;
	case NET_CHANGE_AFFINITY:
		snprintf(text, sizeof(text),
			 "%s: the interrupt of queue %s moved from core %s to %s", c->device->name,
			 queue, before, now);
		events_tell(s, EVENT_NET, EVENT_INFO, "net-irq-moved", text, fields, n);
		break;
	}
}

static int events_take_note(void *arg, const struct rec_event *event)
{
	struct events_state *s = arg;
	return recorder_put_event(s->writer, event, s->err);
}

static void events_tell_losses(struct events_state *s)
{
	char text[160], lost[24], overruns[24];
	struct rec_event_field fields[] = { { "lost", lost }, { "overruns", overruns } };

	if (s->kmsg.lost == s->told_lost && s->kmsg.overruns == s->told_overruns)
		return;
	snprintf(lost, sizeof(lost), "%" PRIu64, s->kmsg.lost - s->told_lost);
	snprintf(overruns, sizeof(overruns), "%" PRIu64, s->kmsg.overruns - s->told_overruns);
	snprintf(text, sizeof(text), "%s kernel log records were lost (%s overruns of the ring)",
		 lost, overruns);
	s->told_lost = s->kmsg.lost;
	s->told_overruns = s->kmsg.overruns;
	events_tell(s, EVENT_SELF, EVENT_WARN, "kmsg-lost", text, fields, ARRAY_LEN(fields));
}

static void events_network(struct events_state *s)
{
	char text[120];
	uint64_t hits = xmit_timeout_read(&s->xmit);

	if (s->ticks % EVENTS_FIND_EVERY == EVENTS_FIND_EVERY - 1) {
		(void)kthread_wait_search(&s->kthreads, NULL);
		net_counters_close(&s->net);
		(void)net_counters_open(&s->net, s->root, NULL);
	}
	tick_clear(&s->net_tick);
	bool compare = s->net.primed;
	if (net_counters_read(&s->net, &s->text, &s->net_tick) == 0 && compare)
		net_counters_changes(&s->net, events_net_change, s);
	if (hits) {
		char times[24];
		struct rec_event_field field = { "hits", times };
		snprintf(times, sizeof(times), "%" PRIu64, hits);
		snprintf(text, sizeof(text), "the kernel's Tx watchdog fired %s times", times);
		events_tell(s, EVENT_NET, EVENT_CRIT, "net-xmit-timeout", text, &field, 1);
	}
}

/* As the recorder says it of parts that are missing as a whole. */
static void events_say_missing(const struct events_state *s)
{
	char line[sizeof(s->missing) + 40];

	snprintf(line, sizeof(line), "cannot be recorded: %s", s->missing);
	if (s->say)
		s->say(s->say_arg, line);
}

/* Where events go from here on, and when it is. */
static void events_enter(struct events_state *s, const struct store_clock *clock,
			 struct store_writer *w, struct err *err)
{
	s->writer = w;
	s->err = err;
	s->failed = 0;
	s->now_ns = clock->real_ns;
}

static void events_flush_waiting(struct events_state *s, const struct store_clock *clock)
{
	if (!s->n_records && !s->emitted)
		return;
	int r = events_flush_batch(s, clock->real_ns);
	s->failed = r < 0 ? r : s->failed;
}

static int events_tick(void *state, const struct store_clock *clock, struct store_writer *w,
		       struct err *err)
{
	struct events_state *s = state;

	events_enter(s, clock, w, err);
	s->now_mono_ns = clock->mono_ns;
	if (*s->missing) {
		events_tell(s, EVENT_SELF, EVENT_INFO, "events-partial", s->missing, NULL, 0);
		events_say_missing(s);
		s->missing[0] = '\0';
	}
	if (!s->have_kmsg && s->ticks % EVENTS_FIND_EVERY == EVENTS_FIND_EVERY - 1 &&
	    kmsg_open(&s->kmsg, s->root, true, NULL) >= 0) {
		s->have_kmsg = true;
		events_find_last_seq(s);
		events_tell(s, EVENT_SELF, EVENT_INFO, "events-back",
			    "the kernel log is recorded from now on", NULL, 0);
	}
	(void)kmsg_clock_check(&s->kmsg.clock, clock->real_ns, clock->mono_ns);
	episodes_advance(s->episodes, clock->real_ns);
	events_flush_waiting(s, clock);
	events_tell_losses(s);
	if (s->shed < 2) {
		events_network(s);
		events_starvation(s);
	}
	if (*s->store_dir)
		(void)note_spool_each(s->store_dir, true, events_take_note, s, NULL);
	s->ticks++;
	return s->failed;
}

/* Every segment says how far the ring was read, so that the newest two are enough to go on. */
static int events_begin_segment(void *state, const struct store_clock *clock,
				struct store_writer *w, struct err *err)
{
	struct events_state *s = state;

	s->writer = w;
	s->err = err;
	return s->kmsg.have_seq ? events_flush_batch(s, clock->real_ns) : 0;
}

static int events_end_segment(void *state, const struct store_clock *clock, struct store_writer *w,
			      struct err *err)
{
	struct events_state *s = state;

	events_enter(s, clock, w, err);
	events_flush_waiting(s, clock);
	events_tell_losses(s);
	return s->failed;
}

/* A reset of the last seconds is told as far as it is known; nobody will read on. */
static int events_finish(void *state, const struct store_clock *clock, struct store_writer *w,
			 struct err *err)
{
	struct events_state *s = state;

	events_enter(s, clock, w, err);
	episodes_flush(s->episodes);
	events_flush_waiting(s, clock);
	return s->failed;
}

static void events_shed(void *state, unsigned level)
{
	((struct events_state *)state)->shed = level;
}

uint64_t record_events_lost(const void *state)
{
	return ((const struct events_state *)state)->kmsg.lost;
}

const struct recorder_part record_events = {
	.name = "events",
	.open = events_open,
	.begin_segment = events_begin_segment,
	.tick = events_tick,
	.fd = events_fd,
	.ready = events_ready,
	.shed = events_shed,
	.finish = events_finish,
	.end_segment = events_end_segment,
	.close = events_close,
};

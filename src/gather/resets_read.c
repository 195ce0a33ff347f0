#include "resets_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "captured.h"
#include "episode.h"
#include "kmsg.h"
#include "pattern.h"
#include "stream.h"
#include "text.h"
#include "timefmt.h"

enum { RESETS_LOG_CAP = 64 << 20 };

struct resets {
	uint64_t from_ns, now_ns;
	uint64_t count, last_ns;
	char last[RESETS_DETAIL_MAX];
	struct pattern_set *patterns;
	struct episodes *episodes;
	struct kmsg_reader kmsg;
};

/* Only the kernel's word counts; what the lab injected counts too and is labelled. */
static void resets_take(struct resets *k, const struct rec_event *e)
{
	if (strcmp(e->id, "net-driver-reset") != 0 || !(e->trusted || e->injected) ||
	    e->time_ns < k->from_ns)
		return;
	k->count++;
	if (e->time_ns < k->last_ns)
		return;
	const char *iface = rec_event_field(e, "iface"), *driver = rec_event_field(e, "driver");
	uint64_t ago_s = e->time_ns < k->now_ns ? (k->now_ns - e->time_ns) / NS_PER_S : 0;
	k->last_ns = e->time_ns;
	snprintf(k->last, sizeof(k->last), "last %llu min %llu s ago: %.60s%s%.60s%s",
		 (unsigned long long)ago_s / 60, (unsigned long long)ago_s % 60,
		 iface ? iface : "a NIC", driver ? ", driver " : "", driver ? driver : "",
		 e->injected ? " (injected by the lab)" : "");
}

static void resets_emit(void *arg, const struct rec_event *event, uint64_t order)
{
	(void)order;
	resets_take(arg, event);
}

static int resets_event(void *arg, const struct rec_event *event)
{
	resets_take(arg, event);
	return 0;
}

static int resets_read_live(struct resets *k, const struct root *root, struct err *err)
{
	struct kmsg_record record;
	int r = kmsg_open(&k->kmsg, root, true, err);

	if (r < 0)
		return r;
	while ((r = kmsg_next(&k->kmsg, &record, err)) > 0)
		(void)episodes_record(k->episodes, k->patterns, &record);
	kmsg_close(&k->kmsg);
	return r;
}

/* The end of the record at `text`: lines of its dictionary begin with a blank. */
static const char *resets_record_end(const char *text)
{
	const char *end = strchr(text, '\n');

	while (end && end[1] == ' ')
		end = strchr(end + 1, '\n');
	return end ? end + 1 : text + strlen(text);
}

/* The ring as it stood when the host was captured. */
static int resets_read_captured(struct resets *k, const struct root *root, struct err *err)
{
	AUTO_BUF struct buf text = { 0 }, clock = { 0 };
	AUTO_TICK struct tick then = { 0 };
	struct kmsg_record record;

	int r = root_read(root, "dev/kmsg", RESETS_LOG_CAP, &text, err);
	if (r == 0)
		r = root_read(root, CAPTURED_CLOCK, 4096, &clock, err);
	if (r == 0)
		r = captured_clock_parse(buf_str(&clock), &then, err);
	if (r < 0)
		return r;
	for (const char *p = buf_str(&text), *end; *p; p = end) {
		end = resets_record_end(p);
		size_t len = (size_t)(end - p);
		if (len > sizeof(k->kmsg.raw) ||
		    kmsg_parse(p, len, k->kmsg.scratch, &record, NULL) < 0 ||
		    record.mono_ns > then.mono_ns)
			continue;
		record.real_ns = then.real_ns - (then.mono_ns - record.mono_ns);
		(void)episodes_record(k->episodes, k->patterns, &record);
	}
	return 0;
}

static int resets_of_ring(struct resets *k, const struct root *root, struct err *err)
{
	int r = pattern_set_new(NULL, NULL, &k->patterns, err);

	k->episodes = episodes_new(resets_emit, k);
	if (r >= 0 && !k->episodes)
		r = err_set(err, -ENOMEM, "out of memory");
	if (r >= 0)
		r = root->live ? resets_read_live(k, root, err)
			       : resets_read_captured(k, root, err);
	if (r >= 0)
		episodes_flush(k->episodes);
	episodes_free(k->episodes);
	pattern_set_free(k->patterns);
	return r;
}

static int resets_of_store(struct resets *k, const char *dir)
{
	struct stream *s;
	int r = stream_open_store(dir, &s, NULL);

	if (r < 0)
		return r;
	r = stream_each_event(s, k->from_ns, UINT64_MAX, resets_event, k, NULL);
	stream_close(s);
	return r;
}

int resets_read(const struct root *root, const char *store_dir, uint64_t now_ns, double *ret_count,
		char ret_detail[RESETS_DETAIL_MAX], struct err *err)
{
	uint64_t window = RESETS_WINDOW_S * NS_PER_S;
	uint64_t from = now_ns > window ? now_ns - window : 0;
	AUTO_FREE struct resets *ring = calloc(1, sizeof(*ring));
	AUTO_FREE struct resets *store = calloc(1, sizeof(*store));

	if (!ring || !store)
		return err_set(err, -ENOMEM, "out of memory");
	ring->from_ns = store->from_ns = from;
	ring->now_ns = store->now_ns = now_ns;
	int r = resets_of_ring(ring, root, err);
	int s = store_dir ? resets_of_store(store, store_dir) : -ENOENT;
	if (r < 0 && s < 0)
		return r;
	/* the ring forgets, the recorder may not have run: whoever saw more is right */
	const struct resets *best = s >= 0 && store->count > ring->count ? store : ring;
	*ret_count = (double)best->count;
	text_copy(ret_detail, RESETS_DETAIL_MAX, best->last);
	return 0;
}

/* Reads a whole recording through the stream and checks it: `ticks N seconds N events N losses N`,
 * then one line per loss and per event. Exit 1 when something cannot be true: ticks that go back in
 * a segment, cores whose counters run backwards. For the torture tests.
 *
 *   store-dump DIR [FROM_NS TO_NS] */
#include <inttypes.h>
#include <stdio.h>

#include "auto.h"
#include "rec_cpu.h"
#include "stream.h"
#include "text.h"

struct totals {
	uint64_t ticks, seconds, events, last_s;
	uint64_t last_mono_ns, last_usr;
	bool absurd;
};

static void dump_tick(struct totals *t, const struct tick *tick)
{
	const struct rec_rows *rows = &tick->rows[REC_CPU];
	uint64_t second = tick->real_ns / 1000000000;

	t->ticks++;
	t->seconds += second != t->last_s;
	t->last_s = second;
	if (!rows->len)
		t->absurd = true;
	else if (tick->mono_ns > t->last_mono_ns &&
		 TICK_ROW(tick, REC_CPU, rec_cpu, 0)->usr < t->last_usr)
		t->absurd = true;
	if (rows->len)
		t->last_usr = TICK_ROW(tick, REC_CPU, rec_cpu, 0)->usr;
	t->last_mono_ns = tick->mono_ns;
}

int main(int argc, char **argv)
{
	uint64_t from = 0, to = UINT64_MAX;
	struct totals t = { 0 };
	struct stream_item item;
	struct stream *s;
	struct err err = { 0 };
	int r;

	if (argc < 2 || (argc == 4 && (text_u64(argv[2], &from) < 0 || text_u64(argv[3], &to) < 0)))
		return 2;
	r = stream_open_store(argv[1], &s, &err);
	if (r >= 0)
		r = stream_seek(s, from, to, STREAM_TICKS | STREAM_EVENTS, &err);
	if (r < 0) {
		fprintf(stderr, "store-dump: %s\n", err.text);
		return 2;
	}
	while ((r = stream_next(s, &item, &err)) > 0) {
		if (item.tick)
			dump_tick(&t, item.tick);
		else
			printf("event %s: %s\n", item.event->id, item.event->text);
		t.events += item.event != NULL;
	}
	if (r < 0)
		fprintf(stderr, "store-dump: %s\n", err.text);
	vec_foreach (&stream_losses(s)->list, loss)
		printf("loss %" PRIu64 " %" PRIu64 " %s\n", loss->from_ns, loss->to_ns, loss->why);
	printf("ticks %" PRIu64 " seconds %" PRIu64 " events %" PRIu64 " losses %zu\n", t.ticks,
	       t.seconds, t.events, stream_losses(s)->list.len);
	stream_close(s);
	return r < 0 ? 2 : t.absurd ? 1 : 0;
}

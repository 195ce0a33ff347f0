#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame_wire.h"
#include "rec_cpu.h"
#include "recorder.h"
#include "segment.h"
#include "store_fixture.h"
#include "stream.h"
#include "tick_codec.h"

/* A recording of two cores: usr of core 0 counts the seconds. The key stands twice, as in record.
 */
static void record_seconds(struct fixture *f, unsigned seconds)
{
	struct tick_codec *codec = tick_codec_new();
	AUTO_BUF struct buf key = { 0 };
	AUTO_TICK struct tick t = { 0 };
	struct err err;

	fixture_open(f, NULL);
	for (unsigned i = 0; i < seconds; i++) {
		AUTO_BUF struct buf bytes = { 0 };
		CHECK_EQ(store_writer_tick(f->w, &f->clock, &err), 0);
		tick_clear(&t);
		t.real_ns = f->clock.real_ns;
		t.mono_ns = f->clock.mono_ns;
		t.boot_ns = f->clock.boot_ns;
		for (uint64_t cpu = 0; cpu < 2; cpu++)
			*(struct rec_cpu *)tick_add_row(&t, REC_CPU) =
				(struct rec_cpu){ .have = 3, .cpu = cpu, .usr = cpu ? 7 : i };
		if (i % 60 == 0) {
			buf_clear(&key);
			CHECK_EQ(tick_codec_encode_key(codec, &t, &key), 0);
		}
		if (i % 60 == 0 || i % 60 == 10)
			CHECK_EQ(store_writer_append(f->w, FRAME_KEY, 1, t.real_ns, key.data,
						     key.len, &err),
				 0);
		CHECK_EQ(tick_codec_encode(codec, &t, &bytes), 0);
		CHECK_EQ(store_writer_append(f->w, FRAME_TICK, 1, t.real_ns, bytes.data, bytes.len,
					     &err),
			 0);
		if (i % 10 == 5) {
			struct rec_event e = { .time_ns = t.real_ns,
					       .end_ns = t.real_ns,
					       .source = EVENT_NOTE,
					       .count = 1,
					       .id = "note",
					       .text = "five" };
			CHECK_EQ(recorder_put_event(f->w, &e, &err), 0);
		}
		fixture_pass(f, NS_PER_S);
	}
	fixture_close(f);
	tick_codec_free(codec);
}

static uint64_t second_of(const struct stream_item *item)
{
	CHECK_EQ(item->tick->rows[REC_CPU].len, 2);
	CHECK_EQ(TICK_ROW(item->tick, REC_CPU, rec_cpu, 1)->usr, 7);
	uint64_t s = TICK_ROW(item->tick, REC_CPU, rec_cpu, 0)->usr;
	CHECK_EQ(item->time_ns, T0 + s * NS_PER_S);
	return s;
}

/* A tick's rates are of the second that ends with it: a second is asked for by its beginning. */
TEST(every_second_from_its_beginning_to_its_end)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	struct stream_item item;
	struct stream *s;
	struct err err;

	record_seconds(&f, 150);
	CHECK_EQ(stream_open_store(f.dir, &s, &err), 0);
	for (uint64_t at = 0; at < 149; at++) {
		CHECK_EQ(stream_seek(s, T0 + at * NS_PER_S, T0 + (at + 1) * NS_PER_S,
				     STREAM_TICKS | STREAM_LEAD, &err),
			 0);
		CHECK_EQ(stream_next(s, &item, &err), 1);
		CHECK_EQ(second_of(&item), at);
		CHECK_EQ(stream_next(s, &item, &err), 1);
		CHECK_EQ(second_of(&item), at + 1);
		CHECK_EQ(stream_next(s, &item, &err), 0);
	}
	/* nothing ends the last one */
	CHECK_EQ(stream_seek(s, T0 + 149 * NS_PER_S, T0 + 150 * NS_PER_S,
			     STREAM_TICKS | STREAM_LEAD, &err),
		 0);
	CHECK_EQ(stream_next(s, &item, &err), 0);
	stream_close(s);
}

static int count_event(void *arg, const struct rec_event *event)
{
	CHECK_STR(event->text, "five");
	++*(unsigned *)arg;
	return 0;
}

TEST(events_and_times_outside)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	struct stream *s;
	struct err err;
	unsigned n = 0;

	record_seconds(&f, 150);
	CHECK_EQ(stream_open_store(f.dir, &s, &err), 0);
	CHECK_EQ(stream_each_event(s, T0 + 20 * NS_PER_S, T0 + 100 * NS_PER_S, count_event, &n,
				   &err),
		 0);
	CHECK_EQ(n, 8);
	CHECK_EQ(stream_seek(s, T0 + 150 * NS_PER_S, T0 + 151 * NS_PER_S, STREAM_TICKS, &err),
		 -ERANGE);
	CHECK(strstr(err.text, "outside the recording (") != NULL);
	/* the events of a window are its own, also where its ticks reach beyond it */
	struct stream_item item;
	n = 0;
	CHECK_EQ(stream_seek(s, T0 + 45 * NS_PER_S, T0 + 55 * NS_PER_S,
			     STREAM_TICKS | STREAM_EVENTS | STREAM_LEAD, &err),
		 0);
	for (unsigned ticks = 0; stream_next(s, &item, &err) == 1;)
		if (item.event)
			CHECK_EQ(item.event->time_ns, T0 + (45 + 10 * n++) * NS_PER_S);
		else
			CHECK_EQ(second_of(&item), 45 + ticks++);
	CHECK_EQ(n, 1);
	CHECK_EQ(stream_seek(s, 0, T0, STREAM_TICKS, &err), -ERANGE);
	CHECK(strncmp(err.text, f.dir, strlen(f.dir)) == 0); /* which recording */
	stream_close(s);
}

TEST(a_critical_event_outlives_retention)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	struct store_options options = { .max_age_ns = 120 * NS_PER_S };
	struct rec_event e = { .source = EVENT_NET,
			       .severity = EVENT_CRIT,
			       .trusted = true,
			       .count = 1,
			       .id = "net-driver-reset",
			       .text = "five" };
	struct stream *s;
	struct err err;
	unsigned n = 0;

	fixture_open(&f, &options);
	for (int i = 0; i < 600; i++) {
		fixture_second(&f);
		if (i == 200) {
			e.time_ns = e.end_ns = f.clock.real_ns - NS_PER_S;
			CHECK_EQ(recorder_put_event(f.w, &e, &err), 0);
		}
	}
	fixture_close(&f);
	CHECK_EQ(stream_open_store(f.dir, &s, &err), 0);
	struct frame frame;
	CHECK_EQ(store_reader_seek(stream_store(s), 0, T0 + 400 * NS_PER_S, FRAME_BIT(FRAME_EVENT),
				   &err),
		 0);
	while (store_reader_next(stream_store(s), &frame, &err) == 1)
		n++;
	CHECK_EQ(n, 3 * 60 + 1); /* the segments of 120, 180 and 240 s */
	stream_close(s);
}

/* Flip a byte in the n-th key frame of the only segment. */
static void damage_key(const struct fixture *f, unsigned which)
{
	DIR *d = opendir(f->dir);
	char path[300] = "";
	struct segment_name name = { 0 };
	struct frame_head head;
	static uint8_t bytes[1 << 20];
	size_t at = SEGMENT_MAGIC_BYTES;

	for (struct dirent *e; (e = readdir(d));)
		if (segment_name_parse(e->d_name, &name))
			snprintf(path, sizeof(path), "%s/%.64s", f->dir, e->d_name);
	closedir(d);
	segment_name_parse(strrchr(path, '/') + 1, &name);
	int fd = open(path, O_RDWR);
	ssize_t len = read(fd, bytes, sizeof(bytes));
	CHECK(len > 0);
	for (;;) {
		ssize_t n = frame_wire_get(bytes + at, (size_t)len - at, &name, &head);
		if (n < 0) { /* damaged before */
			uint64_t budget = 1000000;
			at = frame_wire_find(bytes, (size_t)len, at + 1, &name, &budget);
			CHECK(at < (size_t)len);
			continue;
		}
		if (head.kind == FRAME_KEY && !which--)
			break;
		at += (size_t)n;
	}
	((uint8_t *)head.stored)[3] ^= 0x10;
	CHECK_EQ(pwrite(fd, bytes, (size_t)len, 0), len);
	close(fd);
}

/* What is lost is a stretch of the recording, wherever the damage lies. */
static unsigned count_ticks(const struct fixture *f, struct store_loss ret[4], size_t *ret_losses)
{
	struct stream_item item;
	struct stream *s;
	struct err err;
	unsigned n = 0;

	CHECK_EQ(stream_open_store(f->dir, &s, &err), 0);
	CHECK_EQ(stream_seek(s, 0, UINT64_MAX, STREAM_TICKS, &err), 0);
	while (stream_next(s, &item, &err) == 1)
		CHECK_EQ(second_of(&item), n++);
	*ret_losses = 0;
	vec_foreach (&stream_losses(s)->list, loss) {
		CHECK(loss->from_ns >= T0 && loss->from_ns <= loss->to_ns);
		CHECK(loss->to_ns <= T0 + 50 * NS_PER_S);
		CHECK(*ret_losses < 4);
		ret[(*ret_losses)++] = *loss;
	}
	stream_close(s);
	return n;
}

TEST(one_copy_of_the_key_is_enough)
{
	static const char *const told[] = { "nothing is lost by it, its copy serves",
					    "checksum of a key frame", "checksum of a key frame",
					    "ticks of a segment whose key is lost" };
	AUTO_FIXTURE struct fixture f = fixture_new();
	struct store_loss lost[4];
	size_t losses;

	record_seconds(&f, 50);
	damage_key(&f, 1);
	CHECK_EQ(count_ticks(&f, lost, &losses), 50);
	CHECK_EQ(losses, 1); /* said once, by whoever comes to it first */
	CHECK(strstr(lost[0].why, told[0]) != NULL);
	CHECK_EQ(lost[0].from_ns, lost[0].to_ns);
	damage_key(&f, 0);
	CHECK_EQ(count_ticks(&f, lost, &losses), 0);
	CHECK_EQ(losses, 3);
	for (size_t i = 0; i < losses; i++)
		CHECK(strstr(lost[i].why, told[1 + i]) != NULL);
	CHECK_EQ(lost[0].from_ns, T0);
	CHECK_EQ(lost[0].to_ns, T0 + 50 * NS_PER_S);
}

/* Who asks for events alone misses nothing when a key is gone. */
TEST(a_lost_key_is_no_loss_of_events)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	struct stream *s;
	struct err err;
	unsigned n = 0;

	record_seconds(&f, 50);
	damage_key(&f, 0);
	damage_key(&f, 0);
	CHECK_EQ(stream_open_store(f.dir, &s, &err), 0);
	CHECK_EQ(stream_each_event(s, T0, T0 + 50 * NS_PER_S, count_event, &n, &err), 0);
	CHECK_EQ(n, 5);
	CHECK_EQ(stream_losses(s)->list.len, 0);
	stream_close(s);
}

struct fake_part {
	unsigned begun, ticked, ended, closed;
} seen;

static int fake_open(void **ret_state, const struct recorder_context *context, struct err *err)
{
	*ret_state = &seen;
	return 0;
}

static int fake_begin(void *state, const struct store_clock *clock, struct store_writer *w,
		      struct err *err)
{
	((struct fake_part *)state)->begun++;
	return 0;
}

static int fake_tick(void *state, const struct store_clock *clock, struct store_writer *w,
		     struct err *err)
{
	((struct fake_part *)state)->ticked++;
	return err_set(err, -EIO, "trouble of a part");
}

static int fake_end(void *state, const struct store_clock *clock, struct store_writer *w,
		    struct err *err)
{
	((struct fake_part *)state)->ended++;
	return 0;
}

static void fake_close(void *state)
{
	((struct fake_part *)state)->closed++;
}

static int broken_open(void **ret_state, const struct recorder_context *context, struct err *err)
{
	return err_set(err, -EPERM, "no such thing on this host");
}

static const struct recorder_part fake = { .name = "fake",
					   .open = fake_open,
					   .begin_segment = fake_begin,
					   .tick = fake_tick,
					   .end_segment = fake_end,
					   .close = fake_close };
static const struct recorder_part broken = { .name = "broken", .open = broken_open };

/* Opens at the second try. */
static struct fake_part late_seen;
static unsigned late_tries;

static int late_open(void **ret_state, const struct recorder_context *context, struct err *err)
{
	if (!late_tries++)
		return err_set(err, -EAGAIN, "late: not yet");
	*ret_state = &late_seen;
	return 0;
}

static const struct recorder_part late = { .name = "late",
					   .open = late_open,
					   .begin_segment = fake_begin,
					   .tick = fake_tick,
					   .end_segment = fake_end,
					   .close = fake_close };

static int note_ids(void *arg, const struct rec_event *event)
{
	unsigned *bits = arg;

	if (strcmp(event->id, "recorder-part-missing") == 0)
		*bits += strcmp(event->text,
				"cannot be recorded: broken: no such thing on this host "
				"(tried again every 1 s)") == 0;
	if (strcmp(event->id, "recorder-part-back") == 0)
		*bits += 256 * (strcmp(event->text, "late is recorded from now on") == 0);
	if (strcmp(event->id, "recorder-part-missing") == 0 && strstr(event->text, "late"))
		*bits += 4096;
	if (strcmp(event->id, "recorder-part-trouble") == 0)
		*bits += 16 * (strcmp(event->text, "fake: trouble of a part") == 0);
	return 0;
}

static void end_when_late_ticked(void *arg, bool first)
{
	if (late_seen.ticked >= 40)
		raise(SIGTERM);
}

TEST(parts_that_fail_are_named_and_the_rest_goes_on)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	const struct recorder_use parts[] = { { .part = &broken },
					      { .part = &fake },
					      { .part = &late } };
	struct recorder_options options = { .store_dir = f.dir,
					    .root = &f.fake.root,
					    .parts = parts,
					    .n_parts = 3,
					    .store = { .segment_ns = NS_PER_S / 2 },
					    .interval_ns = NS_PER_S / 50,
					    .alive = end_when_late_ticked };
	struct stream *s;
	struct err err;
	unsigned bits = 0;

	CHECK_EQ(recorder_run(&options, &err), 0);
	CHECK(seen.ticked >= 5);
	CHECK(seen.begun >= 2);
	CHECK_EQ(seen.ended, seen.begun);
	CHECK_EQ(seen.closed, 1);
	CHECK_EQ(stream_open_store(f.dir, &s, &err), 0);
	CHECK_EQ(stream_each_event(s, 0, UINT64_MAX, note_ids, &bits, &err), 0);
	CHECK_EQ(bits & 0xff, 16 + 1); /* each said once */
	CHECK_EQ(bits >> 8 & 0xf, 1);
	CHECK_EQ(bits >> 12, 1);
	CHECK_EQ(late_tries, 2);
	CHECK(late_seen.begun >= 2); /* in the middle of a segment, and with the next */
	CHECK_EQ(late_seen.ended, late_seen.begun);
	CHECK_EQ(late_seen.closed, 1);
	stream_close(s);
}

/* A part with a descriptor: the first byte in it is news, and the news is the end. */
static int piped[2];
static unsigned piped_ready, piped_finished;

static int piped_open(void **ret_state, const struct recorder_context *context, struct err *err)
{
	*ret_state = piped;
	return pipe(piped) < 0 || write(piped[1], "xyz", 3) != 3 ? -errno : 0;
}

static int piped_fd(void *state)
{
	return piped[0];
}

static int piped_take(void *state, struct store_writer *w, struct err *err)
{
	char c;

	piped_ready += read(piped[0], &c, 1) == 1;
	if (piped_ready == 1)
		raise(SIGTERM);
	return 0;
}

/* Behind all that had come, once, and before the end of the segment. */
static int piped_finish(void *state, const struct store_clock *clock, struct store_writer *w,
			struct err *err)
{
	piped_finished += piped_ready == 3 && clock->real_ns;
	return 0;
}

TEST(a_part_with_news_is_heard_and_a_signal_while_it_is_waited_for_ends_it)
{
	static const struct recorder_part part = { .name = "piped",
						   .open = piped_open,
						   .fd = piped_fd,
						   .ready = piped_take,
						   .finish = piped_finish };
	AUTO_FIXTURE struct fixture f = fixture_new();
	const struct recorder_use parts[] = { { .part = &part } };
	struct recorder_options options = { .store_dir = f.dir,
					    .root = &f.fake.root,
					    .parts = parts,
					    .n_parts = 1,
					    .interval_ns = NS_PER_S / 50,
					    .duration_ns = 30 * NS_PER_S };
	struct err err;
	uint64_t before = clock_mono_ns();

	CHECK_EQ(recorder_run(&options, &err), 0);
	CHECK_EQ(piped_ready, 3); /* what waited when the signal came is still taken */
	CHECK_EQ(piped_finished, 1);
	CHECK(clock_mono_ns() - before < 10 * NS_PER_S);
	close(piped[0]);
	close(piped[1]);
}

/* Nothing but the time is waited for: another call, the same signals. */
static int begun[2];

static void tell_begun(void *arg, bool first)
{
	if (first)
		CHECK_EQ(write(begun[1], "x", 1), 1);
}

TEST(a_signal_ends_a_recorder_that_waits_for_the_next_tick)
{
	AUTO_FIXTURE struct fixture f = fixture_new();
	struct recorder_options options = { .store_dir = f.dir,
					    .root = &f.fake.root,
					    .interval_ns = 2 * NS_PER_S,
					    .alive = tell_begun };
	struct err err;
	char c;

	CHECK_EQ(pipe(begun), 0);
	pid_t recorder = getpid(), child = fork();
	if (child == 0)
		_exit(read(begun[0], &c, 1) != 1 || kill(recorder, SIGTERM) < 0);
	CHECK_EQ(recorder_run(&options, &err), 0); /* or it would run for ever */
	CHECK_EQ(waitpid(child, NULL, 0), child);
	close(begun[0]);
	close(begun[1]);
}

TEST_MAIN

/* Streams as `perf record -o -` writes them, made by hand, byte by byte. */
#include "perf_data.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "buf.h"
#include "check.h"

static int64_t bytes_read_at(void *arg, uint64_t offset, void *ret, size_t len)
{
	const struct buf *b = arg;

	if (offset >= b->len)
		return 0;
	len = MIN_OF(len, b->len - offset);
	memcpy(ret, b->data + offset, len);
	return (int64_t)len;
}

static struct perf_input input_of(struct buf *b)
{
	return (struct perf_input){ .read_at = bytes_read_at, .arg = b, .size = b->len };
}

static void put(struct buf *b, const void *bytes, size_t len)
{
	buf_add(b, bytes, len);
}

static void put_u64(struct buf *b, uint64_t v)
{
	put(b, &v, 8);
}

static void put_u32(struct buf *b, uint32_t v)
{
	put(b, &v, 4);
}

static void put_header(struct buf *b, uint32_t type, uint16_t misc, size_t body)
{
	uint16_t size = (uint16_t)(8 + body);

	put_u32(b, type);
	put(b, &misc, 2);
	put(b, &size, 2);
}

static void put_stream(struct buf *b)
{
	put(b, "PERFILE2", 8);
	put_u64(b, 16);
}

static void put_attr(struct buf *b, uint32_t type, uint64_t config, uint64_t sample_type,
		     uint64_t flags, uint64_t branches)
{
	struct perf_event_attr a = { .type = type,
				     .size = PERF_ATTR_SIZE_VER2,
				     .config = config,
				     .sample_period = 1,
				     .sample_type = sample_type,
				     .branch_sample_type = branches };

	memcpy((char *)&a + 40, &flags, 8);
	put_header(b, PERF_USER_ATTR, 0, PERF_ATTR_SIZE_VER2);
	put(b, &a, PERF_ATTR_SIZE_VER2);
}

struct seen {
	size_t n;
	uint64_t times[16];
	uint64_t chain[64];
	size_t n_chain;
	bool stack_dump;
	char name[128];
};

static int see(void *arg, const struct perf_data *d, const struct perf_rec *rec, struct err *err)
{
	struct seen *s = arg;

	(void)err;
	CHECK(s->n < ARRAY_LEN(s->times) && rec->n_chain < ARRAY_LEN(s->chain));
	s->times[s->n++] = rec->time;
	s->n_chain = rec->n_chain;
	for (size_t i = 0; i < rec->n_chain; i++)
		s->chain[i] = rec->chain[i];
	s->stack_dump = rec->stack_dump;
	char room[64];
	snprintf(s->name, sizeof(s->name), "%s",
		 perf_attr_name(&d->attrs.items[rec->attr], room, sizeof(room)));
	return 0;
}

static struct seen read_all(const struct perf_input *in, const char *want_damage)
{
	AUTO_PERF_DATA struct perf_data d = { 0 };
	struct perf_data_ops ops = { .record = see };
	struct seen s = { 0 };

	CHECK_EQ(perf_data_read(in, 0, &ops, &s, &d, NULL), 0);
	CHECK_STR(d.damage, want_damage);
	return s;
}

static void put_lbr_sample(struct buf *b, size_t branches)
{
	put_header(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, 8 + 8 * 5 + 8 + 24 * branches);
	put_u64(b, 4); /* chain */
	put_u64(b, (uint64_t)PERF_CONTEXT_KERNEL);
	put_u64(b, 0xffffffff81000001);
	put_u64(b, (uint64_t)PERF_CONTEXT_USER);
	put_u64(b, 0x401000);
	put_u64(b, branches);
	for (size_t i = 0; i < branches; i++) {
		put_u64(b, 0x500000 + i); /* from */
		put_u64(b, 0x600000 + i); /* to */
		put_u64(b, 0);
	}
	put_u64(b, 77); /* cgroup: all that lies before it was read */
}

TEST(a_call_stack_of_the_cpu_is_the_users_part)
{
	AUTO_BUF struct buf b = { 0 };
	uint64_t type = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_CGROUP;

	put_stream(&b);
	put_attr(&b, PERF_TYPE_HARDWARE, 0, type, 0, PERF_SAMPLE_BRANCH_CALL_STACK);
	put_lbr_sample(&b, 2);
	struct perf_input in = input_of(&b);
	struct seen s = read_all(&in, "");
	static const uint64_t want[] = { (uint64_t)PERF_CONTEXT_KERNEL,
					 0xffffffff81000001,
					 (uint64_t)PERF_CONTEXT_USER,
					 0x600000,
					 0x500000,
					 0x500001 };
	CHECK_EQ(s.n_chain, ARRAY_LEN(want));
	CHECK(!memcmp(s.chain, want, sizeof(want)));

	/* the CPU had nothing: what the frame pointers gave stays */
	buf_clear(&b);
	put_stream(&b);
	put_attr(&b, PERF_TYPE_HARDWARE, 0, type, 0, PERF_SAMPLE_BRANCH_CALL_STACK);
	put_lbr_sample(&b, 0);
	in = input_of(&b);
	s = read_all(&in, "");
	CHECK_EQ(s.n_chain, 4);
	CHECK_EQ(s.chain[3], 0x401000);

	/* branches that are no call stack are none */
	buf_clear(&b);
	put_stream(&b);
	put_attr(&b, PERF_TYPE_HARDWARE, 0, type, 0, PERF_SAMPLE_BRANCH_ANY);
	put_lbr_sample(&b, 2);
	in = input_of(&b);
	s = read_all(&in, "");
	CHECK_EQ(s.n_chain, 4);
}

static const char *name_of(uint32_t type, uint64_t config, uint64_t flags, char room[64])
{
	struct perf_attr a = { .type = type, .config = config, .flags = flags };
	return perf_attr_name(&a, room, 64);
}

/* As `perf evlist` prints them. */
TEST(names_of_events_that_have_none)
{
	const uint64_t user = 1 << 4, kernel = 1 << 5, hv = 1 << 6, guest = 1 << 20;
	char room[64];

	CHECK_STR(name_of(PERF_TYPE_HARDWARE, 0, guest, room), "cycles");
	CHECK_STR(name_of(PERF_TYPE_HARDWARE, 0, kernel | hv, room), "cycles:u");
	CHECK_STR(name_of(PERF_TYPE_HARDWARE, 0, kernel | hv | guest, room), "cycles:uH");
	CHECK_STR(name_of(PERF_TYPE_HARDWARE, 1, user | hv, room), "instructions:k");
	CHECK_STR(name_of(PERF_TYPE_HARDWARE, 0, 2 << 15 | guest, room), "cycles:ppH");
	CHECK_STR(name_of(PERF_TYPE_SOFTWARE, 9, 0, room), "dummy:HG");
	CHECK_STR(name_of(PERF_TYPE_RAW, 0x1a8, 0, room), "raw:0x1a8");
	CHECK_STR(name_of(19, 0x2, 0, room), "pmu19:0x2");
}

static void put_text(struct buf *b, const char *text)
{
	put(b, text, strlen(text) + 1);
}

static void put_sized(struct buf *b, const char *text)
{
	put_u64(b, strlen(text));
	put(b, text, strlen(text));
}

static void put_tracing(struct buf *b, size_t cut)
{
	AUTO_BUF struct buf t = { 0 };

	put(&t, "\x17\x08\x44tracing", 10);
	put_text(&t, "0.6");
	put(&t, "\0\x08", 2);
	put_u32(&t, 4096);
	put_text(&t, "header_page");
	put_sized(&t, "field: u64 timestamp;\n");
	put_text(&t, "header_event");
	put_sized(&t, "# compressed entry header\n");
	put_u32(&t, 1);
	put_sized(&t, "name: function\nID: 1\n");
	put_u32(&t, 1);
	put_text(&t, "sched");
	put_u32(&t, 2);
	put_sized(&t, "name: sched_wakeup\nID: 316\nformat:\n");
	put_sized(&t, "name: sched_switch\nID: 317\nformat:\n");
	t.len -= MIN_OF(cut, t.len);
	while (t.len % 8)
		buf_add_char(&t, '\0');
	put_header(b, PERF_USER_TRACING_DATA, 0, 4);
	put_u32(b, (uint32_t)t.len);
	put(b, t.data, t.len);
}

TEST(a_pipe_names_its_tracepoints_behind_them)
{
	for (size_t cut = 0; cut < 400; cut++) {
		AUTO_BUF struct buf b = { 0 };
		put_stream(&b);
		put_attr(&b, PERF_TYPE_TRACEPOINT, 317, PERF_SAMPLE_IP, 0, 0);
		put_tracing(&b, cut);
		put_header(&b, PERF_RECORD_SAMPLE, 0, 8);
		put_u64(&b, 0x1000);
		struct perf_input in = input_of(&b);
		struct seen s = read_all(&in, "");
		CHECK_EQ(s.n, 1);
		/* a cut text names none, and breaks nothing */
		if (cut == 0 || strcmp(s.name, "sched:sched_switch") != 0)
			CHECK_STR(s.name, cut ? "tracepoint:0x13d" : "sched:sched_switch");
	}
}

static void put_timed(struct buf *b, uint64_t time)
{
	put_header(b, PERF_RECORD_SAMPLE, 0, 8);
	put_u64(b, time);
}

TEST(the_files_of_a_directory_are_one_recording)
{
	AUTO_BUF struct buf head = { 0 }, first = { 0 }, second = { 0 };
	struct perf_input more[2];

	put_stream(&head);
	put_attr(&head, PERF_TYPE_SOFTWARE, 0, PERF_SAMPLE_TIME, PERF_ATTR_SAMPLE_ID_ALL, 0);
	for (uint64_t t = 1; t < 6; t += 2)
		put_timed(&first, 100 * t);
	for (uint64_t t = 2; t < 6; t += 2)
		put_timed(&second, 100 * t);
	put_timed(&head, 550);
	more[0] = input_of(&first);
	more[1] = input_of(&second);
	struct perf_input in = input_of(&head);
	in.dir = true;
	in.more = more;
	in.n_more = 2;
	struct seen s = read_all(&in, "");
	static const uint64_t want[] = { 100, 200, 300, 400, 500, 550 };
	CHECK_EQ(s.n, ARRAY_LEN(want));
	CHECK(!memcmp(s.times, want, sizeof(want)));

	more[1].name = "data.1";
	more[1].size -= 3;
	s = read_all(&in, "data.1: it is cut inside a record at byte 16");
	CHECK_EQ(s.n, ARRAY_LEN(want) - 1);
}

TEST_MAIN

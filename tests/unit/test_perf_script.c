#include "perf_script.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

static struct perf_script_sample header(const char *line, bool *ret_ok)
{
	struct perf_script_sample s = { 0 };
	struct perf_script_text rest;

	*ret_ok = perf_script_parse_header(line, strlen(line), &s, &rest);
	return s;
}

#define CHECK_TEXT(text, want)                               \
	do {                                                 \
		CHECK_EQ((text).len, strlen(want));          \
		CHECK(!memcmp((text).at, want, (text).len)); \
	} while (0)

TEST(headers_in_all_their_shapes)
{
	static const struct {
		const char *line, *comm, *event;
		uint32_t pid, tid, cpu;
		uint64_t time_ns, period;
		unsigned have;
	} cases[] = {
		{ "java 25607 4794564.109216: cycles:", "java", "cycles", 0, 25607, 0,
		  4794564109216000, 0, PERF_SCRIPT_TID | PERF_SCRIPT_TIME },
		{ "java 24636/25607 [000] 4.109216: 1 cycles:", "java", "cycles", 24636, 25607, 0,
		  4109216000, 1,
		  PERF_SCRIPT_PID | PERF_SCRIPT_TID | PERF_SCRIPT_CPU | PERF_SCRIPT_TIME |
			  PERF_SCRIPT_PERIOD },
		{ "FS Broker 5858  5791/5860 [003] 1.5: 7 cpu_core/cycles:ppp/: ", "FS Broker 5858",
		  "cpu_core/cycles:ppp/", 5791, 5860, 3, 1500000000, 7,
		  PERF_SCRIPT_PID | PERF_SCRIPT_TID | PERF_SCRIPT_CPU | PERF_SCRIPT_TIME |
			  PERF_SCRIPT_PERIOD },
		{ "x 1 2.0: c: 77 [001] 3.000000004: 9 cpu-clock:ppp:", "x 1 2.0: c:",
		  "cpu-clock:ppp", 0, 77, 1, 3000000004, 9,
		  PERF_SCRIPT_TID | PERF_SCRIPT_CPU | PERF_SCRIPT_TIME | PERF_SCRIPT_PERIOD },
		{ "[kworker] 12 [002] K 9.000001: 3 cycles:", "[kworker]", "cycles", 0, 12, 2,
		  9000001000, 3,
		  PERF_SCRIPT_TID | PERF_SCRIPT_CPU | PERF_SCRIPT_TIME | PERF_SCRIPT_PERIOD },
		{ "java 19983 cycles:", "java", "cycles", 0, 19983, 0, 0, 0, PERF_SCRIPT_TID },
		{ "a b 12/13 [001] 5 cycles:", "a b", "cycles", 12, 13, 1, 0, 5,
		  PERF_SCRIPT_PID | PERF_SCRIPT_TID | PERF_SCRIPT_CPU | PERF_SCRIPT_PERIOD },
		{ "sh\t7 [000] 2020-07-01 12:34:56.123456 1.000001:\t4 cycles:", "sh", "cycles", 0,
		  7, 0, 1000001000, 4,
		  PERF_SCRIPT_TID | PERF_SCRIPT_CPU | PERF_SCRIPT_TIME | PERF_SCRIPT_PERIOD },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool ok;
		struct perf_script_sample s = header(cases[i].line, &ok);
		CHECK(ok);
		CHECK_TEXT(s.comm, cases[i].comm);
		CHECK_TEXT(s.event, cases[i].event);
		CHECK_EQ(s.have, cases[i].have);
		CHECK_EQ(s.pid, cases[i].pid);
		CHECK_EQ(s.tid, cases[i].tid);
		CHECK_EQ(s.cpu, cases[i].cpu);
		CHECK_EQ(s.time_ns, cases[i].time_ns);
		CHECK_EQ(s.period, cases[i].period);
	}
}

TEST(lines_that_are_no_header)
{
	static const char *const lines[] = { "", "java", "  uniform_int_dist.h:300", "a b c",
					     "java 99999999999 1.0: x:" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		bool ok;
		header(lines[i], &ok);
		CHECK(!ok);
	}
}

TEST(frames)
{
	struct perf_script_frame f;
	const char *line =
		"\t  7f00 operator()(int, char (*)[2])+0x1f (/opt/a b/x.so (deleted)) \r";

	CHECK(perf_script_parse_frame(line, strlen(line), &f));
	CHECK_EQ(f.address, 0x7f00);
	CHECK_EQ(f.offset, 0x1f);
	CHECK_TEXT(f.symbol, "operator()(int, char (*)[2])");
	CHECK_TEXT(f.module, "/opt/a b/x.so (deleted)");
	line = "\tffffffff81 [unknown] ([unknown])";
	CHECK(perf_script_parse_frame(line, strlen(line), &f));
	CHECK_EQ(f.symbol.len, 0);
	CHECK_EQ(f.module.len, 0);
	line = "  12 std::move (inlined)";
	CHECK(perf_script_parse_frame(line, strlen(line), &f));
	CHECK(f.inlined);
	line = "  file.cpp:137";
	CHECK(!perf_script_parse_frame(line, strlen(line), &f));
}

struct seen {
	size_t samples, frames;
	char last[32];
};

static int see(void *arg, const struct perf_script_sample *s, struct err *err)
{
	struct seen *seen = arg;

	(void)err;
	seen->samples++;
	seen->frames += s->n_frames;
	memcpy(seen->last, s->comm.at, s->comm.len < 31 ? s->comm.len : 31);
	return 0;
}

static const struct perf_script_ops ops = { .sample = see };

static struct seen feed(const char *text, size_t piece, int want, bool *ret_open_end)
{
	struct seen seen = { 0 };
	AUTO_PERF_SCRIPT struct perf_script s;

	perf_script_init(&s, &ops, &seen);
	for (size_t at = 0; at < strlen(text); at += piece)
		CHECK_EQ(perf_script_feed(&s, text + at,
					  strlen(text) - at < piece ? strlen(text) - at : piece,
					  NULL),
			 0);
	CHECK_EQ(perf_script_end(&s, NULL), want);
	*ret_open_end = s.open_end;
	return seen;
}

TEST(samples_whatever_the_line_ends_and_pieces)
{
	static const char text[] = "# hostname : a\n"
				   "a 1 1.0: c:\r\n\t1 f (m)\r\n  f.c:3\r\n\t2 g (m)\r\n\r\n"
				   "b 2 2.0: c:\n\t3 h (m)\n\n";
	bool open_end;

	for (size_t piece = 1; piece < 9; piece++) {
		struct seen s = feed(text, piece, 0, &open_end);
		CHECK_EQ(s.samples, 2);
		CHECK_EQ(s.frames, 3);
		CHECK(!open_end);
	}
}

TEST(a_stack_that_nothing_closes_may_be_cut)
{
	bool open_end;
	struct seen s =
		feed("a 1 1.0: c:\n\t1 f (m)\n\nb 2 2.0: c:\n\t3 h (m)\n", 100, 0, &open_end);

	CHECK_EQ(s.samples, 1);
	CHECK(open_end);
	s = feed("b 2 2.0: c:\n\t3 h (m)\n", 100, 0, &open_end);
	CHECK_EQ(s.samples, 1);
	CHECK(!open_end);
}

TEST(one_line_samples_follow_each_other)
{
	bool open_end;
	struct seen s = feed("  perf  4 [001] 1.0: 2 cpu-clock:  ff81 f+0x1 ([k])\n"
			     "  perf  4 [001] 2.0: 2 cpu-clock:  ff82 g+0x1 ([k])\n",
			     100, 0, &open_end);
	CHECK_EQ(s.samples, 2);
	CHECK_EQ(s.frames, 2);
}

TEST(a_one_line_sample_of_nothing_known)
{
	bool open_end;
	struct seen s = feed("  x  4 1.0: 2 cycles:u:  ff81 [unknown] ([unknown])\n"
			     "  x  4 2.0: 2 cycles:u:  ff82 g+0x1 (/x)\n",
			     100, 0, &open_end);
	CHECK_EQ(s.samples, 2);
	CHECK_EQ(s.frames, 2);
	/* a tracepoint's own text is none */
	s = feed("x 4 [001] 1.0: 2 a:b: 1234 bytes of something\n\t1 f (m)\n\n", 100, 0, &open_end);
	CHECK_EQ(s.samples, 1);
	CHECK_EQ(s.frames, 1);
}

/* perf script -F with few fields: what stands over a frame is a header. */
TEST(headers_with_few_fields)
{
	static const char *const headers[] = {
		"ld ",
		"a b 12/13 ",
		"  2680.000123: ",
		"[001]  2680.1: cpu-clock: ",
		"    cycles: ",
		"  77/78 [000] 1.0: c: ",
		"  12   9.5: cpu-clock:ppp: ",
		"ld [001] ",
	};

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		char text[200];
		bool open_end;
		snprintf(text, sizeof(text), "%s\n\t ff81 f\n\t ff82 g\n\n%s\n\t ff81 f\n\n",
			 headers[i], headers[i]);
		struct seen s = feed(text, 7, 0, &open_end);
		CHECK_EQ(s.samples, 2);
		CHECK_EQ(s.frames, 3);
	}
}

TEST(what_is_no_perf_script_is_refused)
{
	bool open_end;
	feed("hello\nworld\n", 100, -74 /* EBADMSG */, &open_end);
}

TEST_MAIN

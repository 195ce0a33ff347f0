#include "import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "export_folded.h"
#include "export_perf_script.h"

#define S(n) ((uint64_t)(n)*1000000000)

TEST(the_time_in_a_name)
{
	uint64_t ns = 0;

	setenv("TZ", "UTC", 1);
	tzset();
	CHECK_EQ(import_name_time("/x/perf-ip-10-0-12-7-20261116-003953-120s.data", &ns), 0);
	CHECK_EQ(ns, S(1794789593));
	CHECK_EQ(import_name_time("perf-host1-1794789593-120s.data", &ns), 0);
	CHECK_EQ(ns, S(1794789593));
	CHECK_EQ(import_name_time("perf-h-2026-11-16T00:39:53Z-120s.data.gz", &ns), 0);
	CHECK_EQ(ns, S(1794789593));
	CHECK_EQ(import_name_time("perf-h-20261116T003953+0200-120s.data", &ns), 0);
	CHECK_EQ(ns, S(1794789593 - 7200));
	CHECK_EQ(import_name_time("perf-h-1794789593250-120s.data", &ns), 0);
	CHECK_EQ(ns, S(1794789593) + 250000000);
	CHECK_EQ(import_name_time("perf.data", &ns), -ENODATA);
	CHECK_EQ(import_name_time("perf-h-20261399-003953-120s.data", &ns), -ENODATA);
	CHECK_EQ(import_name_time("perf-0123456789abc-x.data", &ns), -ENODATA);
}

static int text_fd(const char *text)
{
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

static int import_text(const char *text, const struct import_options *o, struct profile *p,
		       struct import_info *info)
{
	int fd = text_fd(text);
	CHECK_EQ(profile_init(p), 0);
	int r = import_fd(fd, o, NULL, NULL, p, info, NULL);
	close(fd);
	return r;
}

static const char two[] = "a b 1/2 [003] 10.500000: 7 cycles: \n\tff81 f+0x3 ([kernel.kallsyms])\n"
			  "\t401 main+0x1 (/bin/x)\n\n"
			  "c 5 11.000001: 9 cycles: \n\t402 [unknown] (/bin/y)\n\n";

TEST(times_are_relative_unless_something_says_more)
{
	AUTO_PROFILE struct profile p = { 0 }, q = { 0 }, r = { 0 };
	struct import_info info;
	struct import_options plain = { 0 }, named = { .name = "perf-h-1794789593-120s.data" },
			      anchor = { .have_anchor = true, .anchor_ns = S(100) };

	CHECK_EQ(import_text(two, &plain, &p, &info), 0);
	CHECK_EQ(info.wall, IMPORT_WALL_NONE);
	CHECK(!p.meta.wall_time);
	CHECK_EQ(p.samples.items[0].time_ns, 10500000000);
	CHECK_EQ(import_text(two, &named, &q, &info), 0);
	CHECK_EQ(info.wall, IMPORT_WALL_NAME);
	CHECK_EQ(q.samples.items[0].time_ns, S(1794789593));
	CHECK_EQ(q.samples.items[1].time_ns, S(1794789593) + 500001000);
	CHECK_EQ(import_text(two, &anchor, &r, &info), 0);
	CHECK_EQ(info.wall, IMPORT_WALL_ANCHOR);
	CHECK_EQ(r.samples.items[0].time_ns, S(100));
}

TEST(what_is_exported_is_imported_again)
{
	AUTO_PROFILE struct profile p = { 0 }, q = { 0 };
	AUTO_BUF struct buf text = { 0 }, again = { 0 }, folded = { 0 };
	struct import_options plain = { 0 };
	struct folded_options all = { .tid = true, .kernel = true, .addrs = true };
	struct import_info info;

	CHECK_EQ(import_text(two, &plain, &p, &info), 0);
	export_perf_script(&text, &p, NULL);
	CHECK_EQ(import_text(buf_str(&text), &plain, &q, &info), 0);
	export_perf_script(&again, &q, NULL);
	CHECK_STR(buf_str(&text), buf_str(&again));
	export_folded(&folded, &q, &all);
	CHECK_STR(buf_str(&folded), "a_b-1/2;main;f_[k] 7\nc-?/5;[y <402>] 9\n");
}

TEST(a_task_that_is_just_ending)
{
	AUTO_PROFILE struct profile p = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct import_options plain = { 0 };
	struct import_info info;

	CHECK_EQ(import_text(":-1 -1/-1 [000] 10.500000:          7 c: \n\t 1 f (m)\n\n", &plain,
			     &p, &info),
		 0);
	export_perf_script(&text, &p, NULL);
	CHECK(strstr(buf_str(&text), ":-1 -1/-1 [000] 10.500000000: ") == buf_str(&text));
}

TEST(deep_stacks_and_many_of_them)
{
	AUTO_PROFILE struct profile p = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct import_options plain = { 0 };
	struct import_info info;

	for (int i = 0; i < 2000; i++) {
		buf_addf(&text, "a 1 %d.%06d: c:\n", i / 100, i % 100 * 10);
		for (int k = 0; k < 127; k++)
			buf_addf(&text, "\t%x f%d_%d (m)\n", k + 1, i, k);
		buf_add_str(&text, "\n");
	}
	CHECK_EQ(import_text(buf_str(&text), &plain, &p, &info), 0);
	CHECK_EQ(p.samples.len, 2000);
	CHECK_EQ(p.stacks.items[p.samples.items[0].stack].depth, 127);
	CHECK_EQ(p.dropped, 0);
}

TEST(what_is_neither_is_refused)
{
	AUTO_PROFILE struct profile p = { 0 }, q = { 0 };
	struct import_options plain = { 0 };
	struct import_info info;

	CHECK_EQ(import_text("", &plain, &p, &info), -ENODATA);
	CHECK_EQ(import_text("PERFILE2 but then nothing", &plain, &q, &info), -EBADMSG);
}

TEST_MAIN

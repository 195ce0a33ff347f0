#include "proc_stat.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "check.h"
#include "rec_cpu.h"
#include "rec_load.h"
#include "scan.h"

TEST(every_online_core_and_the_machine)
{
	AUTO_TICK struct tick t = { 0 };

	CHECK_EQ(proc_stat_parse("cpu  9 9 9 9 9 9 9 9 9 9\n"
				 "cpu0 1 2 3 4 5 6 7 8 9 10\n"
				 "cpu3 11 0 0 40 0 0 0 0 0 0\n" /* 1 and 2 are offline */
				 "intr 754572 0 0 0\nctxt 1543058\nbtime 1794789483\n"
				 "processes 41649\nprocs_running 3\nprocs_blocked 1\n"
				 "softirq 5 1 1\n",
				 &t, NULL),
		 0);
	CHECK_EQ(t.rows[REC_CPU].len, 2);
	const struct rec_cpu *c = TICK_ROW(&t, REC_CPU, rec_cpu, 0);
	CHECK_EQ(c->usr, 1);
	CHECK_EQ(c->idle, 4);
	CHECK_EQ(c->guest_nice, 10);
	CHECK_EQ(c->have, (1 << 11) - 1);
	CHECK_EQ(TICK_ROW(&t, REC_CPU, rec_cpu, 1)->cpu, 3);
	const struct rec_load *l = TICK_ROW(&t, REC_LOAD, rec_load, 0);
	CHECK_EQ(l->intr, 754572);
	CHECK_EQ(l->forks, 41649);
	CHECK_EQ(l->runnable, 3);
	CHECK_EQ(l->blocked, 1);
}

TEST(the_cores_alone)
{
	AUTO_TICK struct tick t = { 0 };
	const char *odd = "cpu  9 9\ncpu0 1  2\t3 4 5 6 7 8 9 10\nctxt 7\n";
	struct err err = { 0 };

	CHECK_EQ(proc_stat_parse_cores(odd, strlen(odd), &t, &err), 0);
	CHECK_EQ(t.rows[REC_CPU].len, 1);
	CHECK_EQ(TICK_ROW(&t, REC_CPU, rec_cpu, 0)->sys, 3);
	CHECK_EQ(TICK_ROW(&t, REC_CPU, rec_cpu, 0)->guest_nice, 10);
	CHECK_EQ(t.rows[REC_LOAD].len, 0);
	tick_clear(&t);
	CHECK_EQ(proc_stat_parse_cores("ctxt 7\n", 7, &t, &err), -ENODATA);
	CHECK_STR(err.text, "/proc/stat: no line of any core");
}

/* Both ways through a line of numbers must agree, whatever their length and whatever follows. */
TEST(numbers_of_every_length)
{
	static const char *const between[] = { " ", "  ", "\t", "x", "-", "\n", "" };
	static const char room[] = "0123456789012345678901234567890123456789"
				   "0123456789012345678901234567890123456789";
	char text[400];

	for (unsigned digits = 1; digits <= 25; digits++) {
		for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++) {
			uint64_t found[3] = { 0 }, slow[3] = { 0 };
			const char *number = "9182736450918273645091827", *p = text;
			snprintf(text, sizeof(text), "7 %.*s%s%.*s\n%s", (int)digits, number,
				 between[i], (int)digits, number, room);
			const char *to =
				scan_numbers(text, text + strlen(text), 3, '\n', (char *)found);
			CHECK(!!to == (i == 0 && digits <= 16));
			for (unsigned n = 0; to && n < 3; n++)
				p = scan_next_u64(p, &slow[n]);
			CHECK(!to || p == to);
			CHECK(!to || memcmp(found, slow, sizeof(found)) == 0);
		}
	}
}

/* What lies behind the text is not looked at, however near its end a number is. */
TEST(numbers_at_the_end_of_a_text)
{
	const char *line = "1 22 333 4444 55555\n";

	for (size_t len = 0; len < 200; len++) {
		AUTO_FREE char *text = calloc(1, len + 1);
		uint64_t found[5];
		for (size_t i = 0; text && i < len; i++)
			text[i] = line[i % strlen(line)];
		const char *to = scan_numbers(text, text + len, 5, '\n', (char *)found);
		CHECK(to == NULL || (to == text + strlen(line) - 1 && found[4] == 55555));
		CHECK(to != NULL || len < 100);
	}
}

TEST(what_is_no_digit)
{
	char text[64];

	for (unsigned c = 0; c < 256; c++) {
		for (unsigned at = 0; at < 64; at += 7) {
			uint64_t eights = 0;
			memset(text, '5', sizeof(text));
			text[at] = (char)c;
			text[(at + 1) % 64] = (char)(c + 0x80);
			for (unsigned i = 0; i < 64; i += 8)
				eights |= scan_others_of_eight(text + i) << i;
			CHECK(eights == scan_others(text));
			CHECK(!(eights >> at & 1) == scan_is_digit((char)c));
		}
	}
}

TEST(old_kernels_have_fewer_columns)
{
	AUTO_TICK struct tick t = { 0 };

	CHECK_EQ(proc_stat_parse("cpu0 1 2 3 4\n", &t, NULL), 0);
	const struct rec_cpu *c = TICK_ROW(&t, REC_CPU, rec_cpu, 0);
	CHECK(c->have & REC_CPU_IDLE);
	CHECK(!(c->have & REC_CPU_IOWAIT));
}

/* Its core is there, but of its time nothing is known; the others are read. */
TEST(a_line_that_cannot_be_read_gives_no_times)
{
	static const char *const bad[] = {
		"cpu1 -5 0 0 0 0 0 0 0 0 0",
		"cpu1 5 0 7 9 -1 0 0 0 0 0",
		"cpu1 5 0 7 9 1.5 0 0 0 0 0",
		"cpu1 5 0 7 99999999999999999999 1 0 0 0 0 0",
		"cpu1 5 0 7 9 1 0 0 0 0 99999999999999999999",
		"cpu1x 5 0 7 9 1 0 0 0 0 0",
		"cpu1",
	};
	char text[200];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		AUTO_TICK struct tick t = { 0 };
		snprintf(text, sizeof(text), "cpu0 1 2 3 4\n%s\ncpu2 1 2 3 4\n", bad[i]);
		CHECK_EQ(proc_stat_parse(text, &t, NULL), 0);
		CHECK_EQ(t.rows[REC_CPU].len, 3);
		CHECK_EQ(TICK_ROW(&t, REC_CPU, rec_cpu, 1)->cpu, 1);
		CHECK_EQ(TICK_ROW(&t, REC_CPU, rec_cpu, 1)->have, REC_CPU_ID);
		CHECK(TICK_ROW(&t, REC_CPU, rec_cpu, 2)->have & REC_CPU_IDLE);
	}
}

TEST(what_is_no_stat_is_named)
{
	AUTO_TICK struct tick t = { 0 };
	struct err err;

	CHECK_EQ(proc_stat_parse("", &t, &err), -ENODATA);
	CHECK_STR(err.text, "/proc/stat: no line of any core");
	CHECK_EQ(proc_stat_parse("cpu 1 2 3\ncpux 1\ncpu99999999999999999999999 1 2\n", &t, &err),
		 -ENODATA);
	CHECK_EQ(proc_stat_parse("cpu0 99999999999999999999999 1 2 3\n", &t, &err), 0);
	CHECK(TICK_ROW(&t, REC_CPU, rec_cpu, 0)->usr == UINT64_MAX);
}

TEST_MAIN

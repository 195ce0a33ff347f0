#include "proc_stat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

enum { NUMBERS = 6, ROOM = 64 + 16 };

static const char *(*const ways[])(const char *, const char *, const char *, unsigned, char *) = {
	scan_numbers,
	scan_numbers_plain,
};

/* Whether a way found the numbers at p; what it found is what reading them one by one finds. */
static bool numbers_are_found(size_t way, const char *start, const char *p, const char *end,
			      unsigned count)
{
	uint64_t found[NUMBERS], slow;
	const char *to = ways[way](start, p, end, count, (char *)found);

	for (unsigned n = 0; to && n < count; n++) {
		p = scan_next_u64(p, &slow);
		CHECK(p && found[n] == slow);
	}
	CHECK(!to || (p[0] == ' ' && p + 1 == to));
	return to;
}

TEST(numbers_of_every_length)
{
	static const char *const behind[] = {
		" ", "  ", "\t", "x", "-", "\n", ":", "/", "\x80", ""
	};
	const char *digits = "9182736450918273645091827";
	char text[400];

	for (int len = 0; len <= 25; len++) {
		for (int second = 0; second <= 25; second++) {
			for (size_t i = 0; i < ARRAY_LEN(behind); i++) {
				snprintf(text, sizeof(text), "%*s7 %.*s%s%.*s 0 0 1 %0*d", 16, "",
					 len, digits, behind[i], second, digits, ROOM, 0);
				bool good = i == 0 && len && second && len <= 14 && second <= 14;
				const char *end = text + strlen(text);
				for (size_t way = 0; way < ARRAY_LEN(ways); way++)
					CHECK(numbers_are_found(way, text, text + 16, end, 6) ==
					      good);
			}
		}
	}
}

/* Blanks in every place of the characters that are looked at together. */
TEST(numbers_at_every_place)
{
	char text[500];

	for (int first = 1; first <= 14; first++) {
		for (int other = 1; other <= 14; other++) {
			snprintf(text, sizeof(text), "%*s%0*d %0*d 0 0 %0*d %0*d %0*d", 16, "",
				 first, 5, other, 6, other, 7, other, 8, ROOM, 0);
			const char *end = text + strlen(text);
			for (size_t way = 0; way < ARRAY_LEN(ways); way++)
				CHECK(numbers_are_found(way, text, text + 16, end, 6));
		}
	}
}

/* Pages of which those before and behind cannot be touched. */
struct guarded {
	char *pages, *start, *end;
};

static struct guarded guarded_new(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(pages != MAP_FAILED);
	CHECK_EQ(mprotect(pages + page, page, PROT_READ | PROT_WRITE), 0);
	return (struct guarded){ pages, pages + page, pages + 2 * page };
}

static void guarded_free(struct guarded *g)
{
	munmap(g->pages, 3 * (size_t)(g->end - g->start));
}

/* What lies before and behind the text is not looked at, however near a number is. */
TEST(numbers_at_the_ends_of_a_text)
{
	__attribute__((cleanup(guarded_free))) struct guarded g = guarded_new();
	static const char *const lines[] = { "1 ", "1 22 333 4444 55555 " };

	for (size_t len = 0; len < 200; len++) {
		char *texts[] = { g.start, g.end - len - 1 };
		for (size_t i = 0; i < ARRAY_LEN(texts) * ARRAY_LEN(lines); i++) {
			const char *line = lines[i / 2];
			char *text = texts[i % 2], *end = text + len;
			for (size_t at = 0; at < len; at++)
				text[at] = line[at % strlen(line)];
			*end = '\0';
			for (char *p = text; p <= end; p++) {
				bool inside = p - text >= 16 && end - p >= 64 + 80;
				for (size_t way = 0; way < ARRAY_LEN(ways); way++) {
					bool found = numbers_are_found(way, text, p, end, 6);
					CHECK(found || !inside || *p == ' ');
				}
			}
		}
	}
}

/* A host's cores, whatever the length of a line and wherever the text ends. */
TEST(lines_of_every_length)
{
	__attribute__((cleanup(guarded_free))) struct guarded g = guarded_new();
	static const char *const behind[] = { "", "\n", "\nintr 7 0 0\n" };
	char text[2000];

	for (unsigned digits = 1; digits <= 20; digits++) {
		for (size_t i = 0; i < ARRAY_LEN(behind) * 2; i++) {
			AUTO_TICK struct tick t = { 0 };
			uint64_t value = 7;
			for (unsigned n = 1; n < digits; n++)
				value = value * 10 + n % 10;
			int len = snprintf(text, sizeof(text), "cpu  9 9 9 9 9 9 9 9 9 9\n");
			for (unsigned cpu = 0; cpu < 3; cpu++)
				len += snprintf(text + len, sizeof(text) - (size_t)len,
						"%scpu%u %" PRIu64 " 0 5 %" PRIu64 " 0 0 6 0 0 %d",
						cpu ? "\n" : "", cpu, value, value,
						i & 1 ? 1234567 : 0);
			len += snprintf(text + len, sizeof(text) - (size_t)len, "%s",
					behind[i / 2]);
			char *copies[] = { g.start, g.end - len - 1 };
			for (size_t c = 0; c < ARRAY_LEN(copies); c++) {
				memcpy(copies[c], text, (size_t)len + 1);
				tick_clear(&t);
				CHECK_EQ(proc_stat_parse_cores(copies[c], (size_t)len, &t, NULL),
					 0);
				CHECK_EQ(t.rows[REC_CPU].len, 3);
				for (unsigned cpu = 0; cpu < 3; cpu++) {
					const struct rec_cpu *row =
						TICK_ROW(&t, REC_CPU, rec_cpu, cpu);
					/* 2^64 has 20 digits: nothing is known of such times */
					CHECK_EQ(row->have, digits < 20 ? (1 << 11) - 1 : 1);
					CHECK_EQ(row->cpu, cpu);
					CHECK(digits == 20 || row->usr == value);
					CHECK(digits == 20 || row->idle == value);
					CHECK(digits == 20 || row->softirq == 6);
					CHECK(digits == 20 ||
					      row->guest_nice == (i & 1 ? 1234567 : 0));
				}
			}
		}
	}
}

TEST(what_is_no_digit)
{
	char text[8];

	for (unsigned c = 0; c < 256; c++) {
		for (unsigned at = 0; at < 8; at++) {
			memset(text, '5', sizeof(text));
			text[at] = (char)c;
			text[(at + 1) % 8] = (char)(c + 0x80);
			uint64_t others = scan_others_of_eight(text);
			for (unsigned i = 0; i < 8; i++)
				CHECK(!(others >> i & 1) == scan_is_digit(text[i]));
		}
	}
}

/* Its row is read number by number, and what the row held before does not show. */
TEST(a_line_without_its_last_number)
{
	AUTO_TICK struct tick t = { 0 };
	char text[400];

	for (unsigned again = 0; again < 2; again++) {
		snprintf(text, sizeof(text),
			 "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 4 5 6 7 8 9 %s\n"
			 "cpu1 1 2 3 4 5 6 7 8 9 10\nintr %0*d\n",
			 again ? "" : "12", ROOM, 0);
		tick_clear(&t);
		CHECK_EQ(proc_stat_parse(text, &t, NULL), 0);
		CHECK_EQ(t.rows[REC_CPU].len, 2);
		CHECK_EQ(TICK_ROW(&t, REC_CPU, rec_cpu, 0)->guest, 9);
		CHECK_EQ(TICK_ROW(&t, REC_CPU, rec_cpu, 0)->guest_nice, again ? 0 : 12);
		CHECK_EQ(TICK_ROW(&t, REC_CPU, rec_cpu, 0)->have, (1 << (again ? 10 : 11)) - 1);
		CHECK_EQ(TICK_ROW(&t, REC_CPU, rec_cpu, 1)->guest_nice, 10);
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
		"cpu1 5 0 7 9 1 0 0 0 0 -1",
		"cpu1 5 0 7 9 1 0:0 0 0 0",
		"cpu1x 5 0 7 9 1 0 0 0 0 0",
		"cpu1",
	};
	char text[400];

	for (size_t i = 0; i < ARRAY_LEN(bad) * 2; i++) {
		AUTO_TICK struct tick t = { 0 };
		/* at the end of the text, and where there is room for reading it in one go */
		snprintf(text, sizeof(text), "cpu0 1 2 3 4\n%s\ncpu2 1 2 3 4\nintr %0*d\n",
			 bad[i / 2], i & 1 ? ROOM : 1, 0);
		CHECK_EQ(proc_stat_parse(text, &t, NULL), 0);
		CHECK_EQ(t.rows[REC_CPU].len, 3);
		CHECK_EQ(TICK_ROW(&t, REC_CPU, rec_cpu, 1)->cpu, 1);
		CHECK_EQ(TICK_ROW(&t, REC_CPU, rec_cpu, 1)->have, REC_CPU_ID);
		CHECK(TICK_ROW(&t, REC_CPU, rec_cpu, 2)->have & REC_CPU_IDLE);
	}
}

TEST(columns_that_are_not_known_yet)
{
	AUTO_TICK struct tick t = { 0 };
	char text[400];

	snprintf(text, sizeof(text),
		 "cpu  9 9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 4 5 6 7 8 9 10 11\ncpu1 1 2 3 4 5 6 7 8 9 "
		 "0 "
		 "x\nintr %0*d\n",
		 ROOM, 0);
	CHECK_EQ(proc_stat_parse(text, &t, NULL), 0);
	CHECK_EQ(t.rows[REC_CPU].len, 2);
	CHECK_EQ(TICK_ROW(&t, REC_CPU, rec_cpu, 0)->guest_nice, 10);
	CHECK_EQ(TICK_ROW(&t, REC_CPU, rec_cpu, 0)->have, (1 << 11) - 1);
	CHECK_EQ(TICK_ROW(&t, REC_CPU, rec_cpu, 1)->have, (1 << 11) - 1);
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

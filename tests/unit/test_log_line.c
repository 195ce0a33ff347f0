#include "log_line.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "timefmt.h"

#define NOW (UINT64_C(1784000000) * NS_PER_S) /* 2026-07-14T03:33:20Z */

static struct log_line parse(const char *text)
{
	static char scratch[70000];
	struct log_line line;
	setenv("TZ", "UTC", 1);
	tzset();
	log_line_parse(text, strlen(text), NOW, scratch, &line);
	return line;
}

static void check_text(const char *text, const char *want)
{
	struct log_line line = parse(text);
	CHECK_EQ(line.len, strlen(want));
	CHECK(memcmp(line.text, want, line.len) == 0);
}

TEST(every_format_gives_the_bare_message)
{
	check_text("ena x: TX", "ena x: TX");
	check_text("[  123.456789] ena x: TX", "ena x: TX");
	check_text("[    0.000000][    T0] ena x: TX", "ena x: TX");
	check_text("[  123.456789 <    0.000012>] ena x: TX", "ena x: TX");
	check_text("[Thu Dec  7 00:05:14 2017] ena x: TX", "ena x: TX");
	check_text("[Nov16 00:44] ena x: TX", "ena x: TX");
	check_text("[  +0.000012] ena x: TX", "ena x: TX");
	check_text("2026-11-16T00:44:26,123456+00:00 ena x: TX", "ena x: TX");
	check_text("2026-11-16T00:44:26+0000 host kernel: ena x: TX", "ena x: TX");
	check_text("2025-05-20T15:45:55.301+00:00 host  !WARNING | kernel: ena x: TX", "ena x: TX");
	check_text("Jul 14 10:10:21 my.host kernel: ena x: TX", "ena x: TX");
	check_text("[  123.456789] host kernel: ena x: TX", "ena x: TX");
	check_text("kern.err: Aug 15 12:21:39 h kernel: [325978.631877] ena x: TX", "ena x: TX");
	check_text("kern  :err   : [  123.456789] ena x: TX", "ena x: TX");
	check_text("kern.warning: ena x: TX", "ena x: TX");
	check_text("kern.shouted: ena x: TX", "kern.shouted: ena x: TX");
	check_text("user  :notice: [  123.456789] ena x: TX", "ena x: TX");
	check_text("daemon:info  : [  123.456789] ena x: TX", "ena x: TX");
	check_text("authpriv:info  : [  123.456789] ena x: TX", "ena x: TX");
	check_text("May 25 07:29:42 x 0,16627,40311380557,-,caller=C0;ena x: TX", "ena x: TX");
	check_text("6,1,2,-;ena x: TX", "ena x: TX");
	check_text("<6>[  123.456789] ena x: TX", "ena x: TX");
	check_text("kernel: [108533.415100] ena x: TX", "ena x: TX");
	check_text("{\"MESSAGE\":\"ena x: TX\",\"_TRANSPORT\":\"kernel\"}", "ena x: TX");
	check_text("{\"MESSAGE\":[101,110,97],\"_TRANSPORT\":\"kernel\"}", "ena");
	check_text("ena x: TX\r", "ena x: TX");
}

TEST(times_are_those_of_the_line)
{
	struct log_line line = parse("Jul 14 10:10:21 h kernel: x");
	CHECK(line.have_wall);
	/* the 14th of this year has not come yet by 7 hours: within a day, so it is this year */
	CHECK_EQ(line.wall_ns, UINT64_C(1784023821) * NS_PER_S);
	CHECK_EQ(parse("Dec 31 23:00:00 h kernel: x").wall_ns, UINT64_C(1767222000) * NS_PER_S);
	line = parse("kern.err: Aug 15 12:21:39 h kernel: [325978.631877] x");
	CHECK(line.have_mono && line.have_wall);
	CHECK_EQ(line.mono_ns, UINT64_C(325978631877000));
	CHECK_EQ(parse("[Thu Dec  7 00:05:14 2017] x").wall_ns, UINT64_C(1512605114) * NS_PER_S);
	CHECK_EQ(parse("2026-11-16T00:44:26,5+00:00 x").wall_ns, UINT64_C(1794789866500000000));
}

TEST(only_kmsg_and_the_journal_prove_a_facility)
{
	CHECK(parse("6,1,2,-;x").facility_proven);
	CHECK_EQ(parse("12,1,2,-;x").facility, 1);
	CHECK(!parse("<6>x").facility_proven);
	CHECK_EQ(parse("kern  :err   : [    1.0] x").facility, 0);
	CHECK_EQ(parse("user  :err   : [    1.0] x").facility, 1);
	CHECK_EQ(parse("daemon:err   : [    1.0] x").facility, 3);
	CHECK_EQ(parse("local7:debug : [    1.0] x").facility, 23);
	CHECK_EQ(parse("local7.warning: x").level, 4);
	CHECK_EQ(parse("local7.error: x").level, 3);
	CHECK(!parse("user  :err   : [    1.0] x").facility_proven);
	CHECK(!parse("kern.err: Aug 15 12:21:39 h kernel: x").facility_proven);
	struct log_line line =
		parse("{\"MESSAGE\":\"x\",\"_TRANSPORT\":\"kernel\",\"SYSLOG_FACILITY\":"
		      "\"0\",\"_SOURCE_MONOTONIC_TIMESTAMP\":\"5\"}");
	CHECK(line.facility_proven && line.facility == 0);
	CHECK_EQ(line.mono_ns, 5000);
	CHECK(!parse("{\"MESSAGE\":\"x\",\"_TRANSPORT\":\"syslog\",\"SYSLOG_FACILITY\":\"0\"}")
		       .facility_proven);
}

TEST(other_programs_are_told_apart)
{
	CHECK(parse("Jul 14 14:17:40 h postfix/local[28290]: 8EF: to=<root>").other);
	CHECK(parse("{\"MESSAGE\":\"x\",\"_TRANSPORT\":\"stdout\"}").other);
	CHECK(!parse("Jul 14 14:17:40 h kernel: x").other);
}

TEST_MAIN

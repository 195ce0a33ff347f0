#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "timefmt.h"

static const uint64_t now = UINT64_C(1700000000) * NS_PER_S; /* 2023-11-14T22:13:20Z */

static uint64_t parse(const char *text)
{
	uint64_t ns = 0;
	struct err err;
	setenv("TZ", "UTC", 1);
	tzset();
	return timefmt_parse(text, now, &ns, &err) < 0 ? 0 : ns;
}

TEST(every_form_of_time)
{
	CHECK_EQ(parse("now"), now);
	CHECK_EQ(parse("-15m"), now - 900 * NS_PER_S);
	CHECK_EQ(parse("@1700000000.25"), now + NS_PER_S / 4);
	CHECK_EQ(parse("2023-11-14T22:13:20Z"), now);
	CHECK_EQ(parse("2023-11-15T00:13:20.5+02:00"), now + NS_PER_S / 2);
	CHECK_EQ(parse("2023-11-14 22:13:20"), now);
	CHECK_EQ(parse("2023-11-14 22:13"), now - 20 * NS_PER_S);
	CHECK_EQ(parse("22:13:20"), now);
	CHECK_EQ(parse("2024-02-29 00:00"), UINT64_C(1709164800) * NS_PER_S);
	CHECK_EQ(parse("2023-11-15T23:30:00+23:30"), UINT64_C(1700006400) * NS_PER_S);
	CHECK_EQ(parse("22:14"),
		 now + 40 * NS_PER_S - 86400 * NS_PER_S); /* yesterday: it is not yet 22:14 */
}

TEST(times_of_files_without_wall_clock)
{
	uint64_t at = UINT64_C(2679317031149);
	char text[TIMEFMT_MAX];

	CHECK_EQ(parse("+2679.317031149"), at);
	CHECK_EQ(parse("+2679.317031149s"), at);
	CHECK_STR(timefmt_rfc3339(text, at), "+2679.317031149s");
	CHECK_STR(timefmt_local(text, at), "+2679s");
	CHECK_STR(timefmt_clock(text, at), "+2679s");
	CHECK(timefmt_is_relative(at) && !timefmt_is_relative(now));
}

TEST(nonsense_is_refused)
{
	static const char *const bad[] = {
		"",  "25:00",   "tomorrow", "2023-13-01 00:00", "@x",
		"-", "1:2:3:4", "-15q",     "2023-02-30 00:00", "2023-02-30T00:00:00Z"
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQ(parse(bad[i]), 0);
}

TEST(a_time_that_cannot_be_counted_is_still_a_time)
{
	static const char *const far[] = { "9999-12-31 00:00:00",   "9999-12-31T00:00:00Z",
					   "1969-12-31T00:00:00Z",  "@99999999999",
					   "@99999999999999999999", "-99999d" };
	uint64_t ns;
	struct err err;

	for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
		CHECK_EQ(timefmt_parse(far[i], now, &ns, &err), -ERANGE);
		CHECK(strstr(err.text, "is too far: times lie between 1970 and 2554") != NULL);
	}
	CHECK_EQ(parse("2554-07-01T00:00:00Z"), UINT64_C(18444931200) * NS_PER_S);
}

TEST(the_epoch_is_a_date_beside_dates)
{
	char text[TIMEFMT_MAX];

	parse("now"); /* sets the zone */
	CHECK_STR(timefmt_beside(text, 0, now), "1970-01-01 00:00:00");
	CHECK_STR(timefmt_beside(text, 0, 2679 * NS_PER_S), "+0s");
	CHECK_STR(timefmt_beside(text, now, 2679 * NS_PER_S), "2023-11-14 22:13:20");
}

TEST(a_range_prints_as_one)
{
	char text[TIMEFMT_RANGE_MAX];

	parse("now");
	CHECK_STR(timefmt_range(text, now, now + NS_PER_S),
		  "2023-11-14 22:13:20 to 2023-11-14 22:13:21");
	CHECK_STR(timefmt_range(text, now + 999 * NS_PER_MS, now + NS_PER_S),
		  "2023-11-14 22:13:20 to 2023-11-14 22:13:21");
	CHECK_STR(timefmt_range(text, now, now + 70 * NS_PER_MS),
		  "2023-11-14 22:13:20.000 to 2023-11-14 22:13:20.070");
	CHECK_STR(timefmt_range(text, now + 1000, now + 5000),
		  "2023-11-14 22:13:20.000001 to 2023-11-14 22:13:20.000005");
	CHECK_STR(timefmt_range(text, now, now + 1),
		  "2023-11-14 22:13:20.000000000 to 2023-11-14 22:13:20.000000001");
	CHECK_STR(timefmt_range(text, now, now), "2023-11-14 22:13:20");
	CHECK_STR(timefmt_range(text, 7 * NS_PER_S, 7 * NS_PER_S + NS_PER_MS),
		  "+7.000s to +7.001s");
}

TEST(durations)
{
	uint64_t ns;

	CHECK_EQ(timefmt_parse_duration("500ms", &ns, NULL), 0);
	CHECK_EQ(ns, 500 * NS_PER_MS);
	CHECK_EQ(timefmt_parse_duration("1.5h", &ns, NULL), 0);
	CHECK_EQ(ns, 5400 * NS_PER_S);
	CHECK(timefmt_parse_duration("5 parsecs", &ns, NULL) < 0);
	CHECK(timefmt_parse_duration("99999999999999999d", &ns, NULL) < 0);
}

TEST(round_trip)
{
	char text[TIMEFMT_MAX];
	CHECK_EQ(parse(timefmt_rfc3339(text, now + 123456789)), now + 123456789);
}

TEST_MAIN

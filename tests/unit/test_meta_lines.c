#include "meta_lines.h"

#include <string.h>

#include "check.h"

TEST(lines_of_a_recording)
{
	static const char text[] =
		"version=1\nhost=there\ncores=96\nempty=\nbig=99999999999999999999"
		"\nodd=12x\nhosts=two\nlast=7";
	const char *at = NULL;
	uint64_t n = 5;

	CHECK_EQ(meta_lines_find(text, sizeof(text) - 1, "host", &at), 5);
	CHECK(memcmp(at, "there", 5) == 0);
	at = NULL;
	CHECK_EQ(meta_lines_find(text, sizeof(text) - 1, "hos", &at), 0);
	CHECK_EQ(meta_lines_find(text, sizeof(text) - 1, "empty", &at), 0);
	CHECK_EQ(meta_lines_find("host", 4, "host", &at), 0);
	CHECK_EQ(meta_lines_find(NULL, 0, "host", &at), 0);
	CHECK(at == NULL);
	CHECK(!meta_lines_u64(text, sizeof(text) - 1, "big", &n));
	CHECK(!meta_lines_u64(text, sizeof(text) - 1, "odd", &n));
	CHECK(!meta_lines_u64(text, sizeof(text) - 1, "none", &n));
	CHECK_EQ(n, 5);
	CHECK(meta_lines_u64(text, sizeof(text) - 1, "cores", &n));
	CHECK_EQ(n, 96);
	CHECK(meta_lines_u64(text, sizeof(text) - 1, "last", &n));
	CHECK_EQ(n, 7);
	/* what is not there any more is not read */
	CHECK(!meta_lines_u64(text, sizeof(text) - 2, "last", &n));
}

TEST_MAIN

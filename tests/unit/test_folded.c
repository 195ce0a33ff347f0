#include "folded.h"

#include <errno.h>
#include <string.h>

#include "check.h"

static void check_diff(const char *before, const char *after, struct folded_diff_options o,
		       const char *want)
{
	AUTO_FOLDED struct folded a = { 0 }, b = { 0 };
	AUTO_BUF struct buf out = { 0 };

	CHECK_EQ(folded_parse(before, strlen(before), &a, NULL), 0);
	CHECK_EQ(folded_parse(after, strlen(after), &b, NULL), 0);
	CHECK_EQ(folded_diff(&out, &a, &b, &o, NULL), 0);
	CHECK_STR(buf_str(&out), want);
}

TEST(both_counts_of_every_stack)
{
	check_diff("a;b 3\na;b 2\ngone 1\n", "a;b 7\nnew 4", (struct folded_diff_options){ 0 },
		   "a;b 5 7\ngone 1 0\nnew 0 4\n");
}

TEST(normalized_counts_are_cut)
{
	check_diff("a 10\nb 1\n", "a 16\n", (struct folded_diff_options){ .normalize = true },
		   "a 14 16\nb 1 0\n");
}

TEST(hex_numbers_are_one)
{
	check_diff("f;0x1F 1\nf;0xff 2\n", "f;0xab;0x 3\n",
		   (struct folded_diff_options){ .strip_hex = true },
		   "f;0x... 3 0\nf;0x...;0x 0 3\n");
}

TEST(fractions_and_strange_lines)
{
	AUTO_FOLDED struct folded f = { 0 }, bad = { 0 };
	struct err err = { 0 };

	CHECK_EQ(folded_parse("a 1.9\r\na 2.\n\n", 13, &f, NULL), 0);
	CHECK_EQ(f.total, 3);
	CHECK_EQ(folded_parse("a 1\nb\n", 6, &bad, &err), -EBADMSG);
	CHECK(strstr(err.text, "line 2"));
}

TEST_MAIN

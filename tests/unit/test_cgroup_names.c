#include "cgroup_names.h"

#include "check.h"

static const char *path_of(const char *names, size_t len, bool whole)
{
	static struct buf text;

	buf_clear(&text);
	CHECK_EQ(cgroup_names_path(&text, names, len), whole);
	return buf_str(&text);
}

TEST(names_up_to_the_root_are_a_path)
{
	CHECK_STR(path_of("c\0b\0a\0", 7, true), "/a/b/c");
	CHECK_STR(path_of("x\0", 3, true), "/x");
	CHECK_STR(path_of("", 1, true), "/");
}

TEST(what_is_cut_says_so)
{
	CHECK_STR(path_of("c\0b", 4, false), "…/b/c");
	CHECK_STR(path_of("c\0b\0a", 5, false), "…/b/c"); /* the last name has no end */
	CHECK_STR(path_of("", 0, false), "");
	CHECK_STR(path_of("c", 1, false), "");
}

TEST_MAIN

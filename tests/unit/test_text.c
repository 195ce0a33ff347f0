#include <errno.h>
#include <limits.h>

#include "check.h"
#include "text.h"

TEST(numbers)
{
	uint64_t u = 7;
	int64_t i;

	CHECK_EQ(text_u64("18446744073709551615\n", &u), 0);
	CHECK(u == UINT64_MAX);
	CHECK_EQ(text_u64("18446744073709551616", &u), -ERANGE);
	CHECK_EQ(text_u64("12x", &u), -EINVAL);
	CHECK_EQ(text_u64("", &u), -EINVAL);
	CHECK_EQ(text_i64("-5", &i), 0);
	CHECK_EQ(i, -5);
	const char *p = "ffG";
	CHECK_EQ(text_take_hex(&p, &u), 0);
	CHECK_EQ(u, 255);
	CHECK_EQ(*p, 'G');
}

TEST(columns_and_keys)
{
	uint64_t u;

	CHECK_EQ(text_column_u64("memory\t4\t68680\t1\n", 2, &u), 0);
	CHECK_EQ(u, 68680);
	CHECK_EQ(text_column_u64("a b\nc d 5", 2, &u), -ENODATA);
	CHECK_EQ(text_key_u64("nr_dying 1\nnr_dying_descendants 9\n", "nr_dying_descendants", &u),
		 0);
	CHECK_EQ(u, 9);
	CHECK_EQ(text_key_u64("abc 1\n", "ab", &u), -ENODATA);
}

TEST(globs_do_not_blow_up)
{
	CHECK(text_glob("*.service", "ecs.service"));
	CHECK(!text_glob("*.service", "ecs.slice"));
	CHECK(text_glob("a*b*c", "aXbXbc"));
	CHECK(!text_glob("*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

static void count(void *arg, unsigned n)
{
	*(unsigned *)arg += n + 1;
}

TEST(cpu_lists)
{
	unsigned sum = 0;

	CHECK_EQ(text_cpu_list("0-3,8\n", 64, count, &sum), 0);
	CHECK_EQ(sum, 1 + 2 + 3 + 4 + 9);
	CHECK_EQ(text_cpu_list("0-99999999", 64, count, &sum), -ERANGE);
	CHECK_EQ(text_cpu_list("3-1", 64, count, &sum), -EINVAL);
	CHECK_EQ(text_cpu_list("1;", 64, count, &sum), -EINVAL);
	CHECK_EQ(text_cpu_list("", 64, count, &sum), 0);
}

TEST(choices)
{
	CHECK(text_is_choice("sys|usr|rt", "sys") && text_is_choice("sys|usr|rt", "rt"));
	CHECK(!text_is_choice("sys|usr|rt", "us") && !text_is_choice("sys|usr|rt", ""));
	CHECK(!text_is_choice("sys|usr|rt", "sys|usr") && !text_is_choice("", "sys"));
}

TEST(slips_of_the_fingers)
{
	CHECK_EQ(text_slips("check", "check"), 0);
	CHECK_EQ(text_slips("check", "chekc"), 1); /* swapped */
	CHECK_EQ(text_slips("check", "chck"), 1);
	CHECK_EQ(text_slips("check", "checks"), 1);
	CHECK_EQ(text_slips("cores", "check"), 4);
	CHECK_EQ(text_slips("", "abc"), 3);
	CHECK_EQ(text_slips("a", "a word that is longer than any command is"), UINT_MAX);
}

TEST_MAIN

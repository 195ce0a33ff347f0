/* A thin skin over cmocka: TEST(name) { ... } registers itself; one file per module.
 *
 *   TEST(parses_a_count) { CHECK_EQ(f("7"), 7); }
 *   TEST_MAIN
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { CHECK_MOST_TESTS = 200 };

static struct CMUnitTest check_tests[CHECK_MOST_TESTS];
static size_t check_n_tests;

#define TEST(name_)                                                                    \
	static void test_##name_(void **cmocka_state);                                 \
	__attribute__((constructor)) static void register_##name_(void)                \
	{                                                                              \
		check_tests[check_n_tests++] =                                         \
			(struct CMUnitTest){ #name_, test_##name_, NULL, NULL, NULL }; \
	}                                                                              \
	static void test_##name_(void **cmocka_state __attribute__((unused)))

#define CHECK(condition)     assert_true(condition)
#define CHECK_EQ(a, b)       assert_int_equal(a, b)
#define CHECK_STR(a, b)      assert_string_equal(a, b)
#define CHECK_NEAR(a, b, by) assert_true((a) - (b) <= (by) && (b) - (a) <= (by))

#define TEST_MAIN                                                                                 \
	int main(void)                                                                            \
	{                                                                                         \
		return _cmocka_run_group_tests(__FILE__, check_tests, check_n_tests, NULL, NULL); \
	}

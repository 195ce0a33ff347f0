#include "numbers.h"

#include "check.h"

TEST(numbers_as_people_read_them)
{
	char n[NUMBERS_MAX];

	CHECK_STR(numbers_count(n, 0), "0");
	CHECK_STR(numbers_count(n, 68680), "68,680");
	CHECK_STR(numbers_count(n, UINT64_MAX), "18,446,744,073,709,551,615");
	CHECK_STR(numbers_mean(n, 11069.6), "11,070");
	CHECK_STR(numbers_mean(n, -54378.2), "-54,378");
	CHECK_STR(numbers_mean(n, -60), "-60");
	CHECK_STR(numbers_mean(n, 0.0667), "0.0667");
	CHECK_STR(numbers_bytes(n, 999), "999 B");
	CHECK_STR(numbers_bytes(n, 1500000000), "1.5 GB");
}

TEST_MAIN

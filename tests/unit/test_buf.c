#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "buf.h"
#include "check.h"

TEST(grows_and_stays_terminated)
{
	AUTO_BUF struct buf b = { 0 };

	CHECK_STR(buf_str(&b), "");
	for (int i = 0; i < 1000; i++)
		buf_addf(&b, "%d,", i % 10);
	CHECK_EQ(b.len, 2000);
	CHECK_EQ(b.data[b.len], '\0');
	buf_clear(&b);
	CHECK_STR(buf_str(&b), "");
}

TEST(out_of_memory_is_sticky)
{
	AUTO_BUF struct buf b = { 0 };

	buf_add_str(&b, "kept");
	CHECK(!buf_reserve(&b, SIZE_MAX - 2));
	CHECK(b.failed);
	buf_add_str(&b, "dropped");
	CHECK_EQ(b.len, 4);
}

TEST(numbers_are_written_as_printf_would)
{
	char expect[32];
	uint64_t ten = 1;

	for (int digits = 0; digits <= 20; digits++, ten *= 10) {
		uint64_t around[] = { ten - 1,          ten,
				      ten + 1,          ten * 7 + 30,
				      UINT64_MAX - ten, 0x123456789abcdefu % ten };
		for (size_t i = 0; i < ARRAY_LEN(around); i++) {
			AUTO_BUF struct buf b = { 0 };
			snprintf(expect, sizeof(expect), "<%" PRIu64, around[i]);
			buf_add_char(&b, '<');
			buf_add_u64(&b, around[i]);
			CHECK_STR(buf_str(&b), expect);
			CHECK_EQ(b.len, strlen(expect));
		}
	}
}

TEST_MAIN

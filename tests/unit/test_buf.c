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

TEST_MAIN

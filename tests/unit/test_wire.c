#include "check.h"
#include "wire.h"

TEST(crc32c_of_the_standard_vector)
{
	CHECK_EQ(crc32c(0, "123456789", 9), 0xe3069283);
	CHECK_EQ(crc32c(crc32c(0, "12345", 5), "6789", 4), 0xe3069283);
}

TEST(numbers_round_trip)
{
	AUTO_BUF struct buf b = { 0 };
	struct wire_reader r;
	static const int64_t values[] = { 0, 1, -1, 63, -64, 64, INT64_MAX, INT64_MIN };

	for (size_t i = 0; i < 8; i++)
		wire_put_i64(&b, values[i]);
	wire_put_u64(&b, UINT64_MAX);
	wire_put_bytes(&b, "abc", 3);
	wire_open(&r, b.data, b.len);
	for (size_t i = 0; i < 8; i++)
		CHECK(wire_get_i64(&r) == values[i]);
	CHECK(wire_get_u64(&r) == UINT64_MAX);
	size_t len;
	CHECK(wire_get_bytes(&r, &len) && len == 3);
	CHECK(!r.failed && r.at == r.end);
	CHECK_EQ(wire_get_u64(&r), 0);
	CHECK(r.failed);
}

TEST(lengths_are_not_trusted)
{
	struct wire_reader r;
	size_t len;

	wire_open(&r,
		  "\xff\xff\xff\xff\x0f"
		  "ab",
		  7);
	CHECK(!wire_get_bytes(&r, &len));
	CHECK(r.failed);
	wire_open(&r, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12);
	wire_get_u64(&r);
	CHECK(r.failed);
}

TEST_MAIN

#include <math.h>
#include <string.h>

#include "auto.h"
#include "check.h"
#include "json.h"

TEST(nests_and_separates)
{
	AUTO_BUF struct buf out = { 0 };
	struct json j;

	json_init(&j, &out);
	json_object(&j, NULL);
	json_u64(&j, "a", UINT64_MAX);
	json_array(&j, "b");
	json_i64(&j, NULL, -1);
	json_object(&j, NULL);
	json_end_object(&j);
	json_end_array(&j);
	json_f64(&j, "c", NAN, 2);
	json_f64(&j, "d", 1.005, 1);
	json_str(&j, "e\"", NULL);
	json_time(&j, "t", UINT64_C(1700000000000000001));
	json_end_object(&j);
	CHECK_STR(out.data,
		  "{\"a\":18446744073709551615,\"b\":[-1,{}],\"c\":null,\"d\":1.0,\"e\\\"\":null,"
		  "\"t\":\"2023-11-14T22:13:20.000000001Z\",\"t_ns\":1700000000000000001}");
}

static void by_members(struct json *j, const char *text, size_t len, uint64_t n)
{
	json_object(j, NULL);
	json_u64(j, "n", n);
	json_str_n(j, "text", text, len);
	json_u64(j, "next", n + 1);
	json_bool(j, "last", true);
	json_end_object(j);
}

static void by_row(struct json *j, const char *text, size_t len, uint64_t n)
{
	struct json_row row;

	json_object(j, NULL);
	json_row_begin(&row, j);
	json_row_u64(&row, "n", n);
	json_row_str(&row, "text", text, len);
	json_row_u64(&row, "next", n + 1);
	json_row_end(&row);
	json_bool(j, "last", true);
	json_end_object(j);
}

/* Texts of all lengths up to more than a buffer's growth, plain and hostile, one row after the
 * other. */
TEST(rows_are_what_members_are)
{
	AUTO_BUF struct buf members = { 0 }, rows = { 0 };
	static char text[6000];
	struct json a, b;

	json_init(&a, &members);
	json_init(&b, &rows);
	json_array(&a, NULL);
	json_array(&b, NULL);
	for (size_t len = 0; len < sizeof(text); len += 1 + len / 8) {
		memset(text, 'x', len);
		by_members(&a, text, len, len * len);
		by_row(&b, text, len, len * len);
		if (len)
			memcpy(text + len / 2, "\"\\", MIN_OF(len - len / 2, (size_t)2));
		by_members(&a, text, len, UINT64_MAX - len);
		by_row(&b, text, len, UINT64_MAX - len);
	}
	json_end_array(&a);
	json_end_array(&b);
	CHECK_STR(rows.data, members.data);
}

TEST(rows_without_memory_write_nothing)
{
	AUTO_BUF struct buf out = { 0 };
	struct json j;

	json_init(&j, &out);
	buf_add_str(&out, "kept");
	CHECK(!buf_reserve(&out, SIZE_MAX - 8));
	for (int i = 0; i < 100; i++)
		by_row(&j, "text", 4, UINT64_MAX - 1);
	CHECK(out.failed);
	CHECK_STR(out.data, "kept");
}

TEST_MAIN

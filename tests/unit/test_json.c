#include <math.h>

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

TEST_MAIN

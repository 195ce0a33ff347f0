#include "http_query.h"

#include <errno.h>
#include <string.h>

#include "check.h"

static struct http_query q;
static struct err err;

TEST(takes_an_address_apart)
{
	CHECK_EQ(http_query_parse("/api/v1/cores?from=%401700&comm=a%20b+c&flag&cpu=5", &q, &err),
		 0);
	CHECK_STR(q.path, "/api/v1/cores");
	CHECK_STR(http_query_get(&q, "from"), "@1700");
	CHECK_STR(http_query_get(&q, "comm"), "a b c");
	CHECK(http_query_get(&q, "flag") == NULL);
	CHECK(http_query_get(&q, "none") == NULL);
}

TEST(refuses_what_is_no_address)
{
	char many[400] = "/x?";

	CHECK_EQ(http_query_parse("api", &q, &err), -EINVAL);
	CHECK_EQ(http_query_parse("/a%0ab", &q, &err), -EINVAL);
	CHECK_EQ(http_query_parse("/a%00", &q, &err), -EINVAL);
	CHECK_EQ(http_query_parse("/%2e%2e/etc", &q, &err), -EINVAL);
	CHECK_EQ(http_query_parse("/x?a=%4", &q, &err), -EINVAL);
	for (int i = 0; i < 30; i++)
		memcpy(many + 3 + i * 4, "a=b&", 5);
	CHECK_EQ(http_query_parse(many, &q, &err), -E2BIG);
}

TEST(numbers_have_bounds)
{
	uint64_t v = 0;

	http_query_parse("/x?cols=800&bad=8x&big=99999999999999999999&zero=0", &q, &err);
	CHECK_EQ(http_query_u64(&q, "cols", 1, 1, 4000, &v, &err), 0);
	CHECK_EQ(v, 800);
	CHECK_EQ(http_query_u64(&q, "absent", 7, 1, 4000, &v, &err), 0);
	CHECK_EQ(v, 7);
	CHECK_EQ(http_query_u64(&q, "bad", 1, 1, 4000, &v, &err), -EINVAL);
	CHECK_EQ(http_query_u64(&q, "big", 1, 1, 4000, &v, &err), -EINVAL);
	CHECK_EQ(http_query_u64(&q, "zero", 1, 1, 4000, &v, &err), -EINVAL);
	CHECK_STR(err.text, "zero must be a number from 1 to 4000");
}

TEST(only_this_machine_by_name)
{
	CHECK(http_host_allowed("localhost:9760", NULL, 9760));
	CHECK(http_host_allowed("127.0.0.1:9760", NULL, 9760));
	CHECK(http_host_allowed("LOCALHOST", NULL, 9760));
	CHECK(http_host_allowed("[::1]:9760", NULL, 9760));
	CHECK(http_host_allowed("node-2:9760", "node-1,node-2", 9760));
	CHECK(!http_host_allowed(NULL, NULL, 9760));
	CHECK(!http_host_allowed("", NULL, 9760));
	CHECK(!http_host_allowed("evil.example:9760", NULL, 9760));
	CHECK(!http_host_allowed("localhost.evil.example", NULL, 9760));
	CHECK(!http_host_allowed("localhost:80", NULL, 9760));
	CHECK(!http_host_allowed("127.0.0.1.evil", NULL, 9760));
	CHECK(!http_host_allowed("node-", "node-1,node-2", 9760));
	CHECK(!http_host_allowed("[::1", NULL, 9760));
}

TEST(only_our_own_origin)
{
	CHECK(http_origin_allowed(NULL, "localhost:9760"));
	CHECK(http_origin_allowed("http://localhost:9760", "localhost:9760"));
	CHECK(!http_origin_allowed("http://localhost:9761", "localhost:9760"));
	CHECK(!http_origin_allowed("https://evil.example", "localhost:9760"));
	CHECK(!http_origin_allowed("null", "localhost:9760"));
}

TEST(encodings_by_quality)
{
	CHECK(http_accepts("gzip, deflate, br", "gzip"));
	CHECK(http_accepts("br;q=1.0, gzip;q=0.8", "gzip"));
	CHECK(!http_accepts("br, gzip;q=0", "gzip"));
	CHECK(!http_accepts("br, gzip;q=0.0, x", "gzip"));
	CHECK(!http_accepts("xgzip", "gzip"));
	CHECK(!http_accepts(NULL, "gzip"));
}

TEST_MAIN

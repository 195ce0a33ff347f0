#include <stdio.h>

#include "check.h"
#include "map.h"

TEST(u64_keeps_removes_and_iterates)
{
	AUTO_MAP_U64 struct map_u64 m = { 0 };
	bool fresh;

	for (uint64_t i = 0; i < 10000; i++)
		*map_u64_put(&m, i * 7919, &fresh) = i;
	for (uint64_t i = 0; i < 10000; i += 2)
		CHECK(map_u64_remove(&m, i * 7919));
	CHECK(!map_u64_remove(&m, 0));
	for (uint64_t i = 0; i < 10000; i++) {
		uint64_t *v = map_u64_get(&m, i * 7919);
		CHECK(i % 2 ? v && *v == i : !v);
	}
	size_t at = 0, seen = 0;
	uint64_t key, *value;
	while (map_u64_next(&m, &at, &key, &value))
		seen++;
	CHECK_EQ(seen, 5000);
}

TEST(strings_may_hold_nul_and_are_copied)
{
	AUTO_MAP_STR struct map_str m = { 0 };
	char key[16];

	for (int i = 0; i < 1000; i++) {
		int n = snprintf(key, sizeof(key), "k%d", i);
		*map_str_put(&m, key, (size_t)n, NULL) = (uint64_t)i;
	}
	*map_str_put(&m, "a\0b", 3, NULL) = 5;
	CHECK_EQ(*map_str_get(&m, "k999", 4), 999);
	CHECK_EQ(*map_str_get(&m, "a\0b", 3), 5);
	CHECK(!map_str_get(&m, "a", 1));
	CHECK_EQ(m.len, 1001);
}

TEST_MAIN

#include "census_summary.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

static void add(struct census_summary *s, const char *path, uint64_t bytes, uint64_t serial)
{
	struct zombie z = {
		.path = path, .path_len = strlen(path), .bytes = bytes, .serial = serial
	};

	owner_parse(path, z.path_len, &z.owner);
	CHECK(census_summary_add(s, &z));
	s->dying++;
}

TEST(groups_by_owner_largest_first)
{
	AUTO_CENSUS_SUMMARY struct census_summary s = { 0 }, back = { 0 };
	AUTO_BUF struct buf bytes = { 0 };
	char path[200];

	add(&s, "/system.slice/ecs.service", 100, 1);
	for (int i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), "/docker/%064x", i);
		add(&s, path, 4096, 10 + (uint64_t)i);
	}
	census_summary_finish(&s);
	CHECK_EQ(s.groups.len, 2);
	CHECK_STR(s.groups.items[0].owner, "docker containers under /docker");
	CHECK_EQ(s.groups.items[0].count, 1000);
	CHECK_EQ(s.groups.items[0].last_serial, 1009);
	CHECK_STR(s.groups.items[1].unit, "ecs.service");
	CHECK_EQ(s.bytes, 1000 * 4096 + 100);

	s.have = CENSUS_DYING | CENSUS_GROUPS;
	s.method = CENSUS_BY_BPF;
	census_summary_encode(&bytes, &s, 1);
	CHECK_EQ(census_summary_decode(bytes.data, bytes.len, &back), 0);
	CHECK_EQ(back.dying, 1001);
	CHECK_EQ(back.groups.len, 1);
	CHECK_EQ(back.other_groups, 1);
	CHECK_EQ(back.n_names, CENSUS_MOST_NAMES);
	CHECK_EQ(back.names[0].bytes, 4096);
	CHECK_EQ(back.names[0].serial, 10);
	for (size_t cut = 0; cut < bytes.len; cut++) {
		AUTO_CENSUS_SUMMARY struct census_summary torn = { 0 };
		int r = census_summary_decode(bytes.data, cut, &torn);
		/* the last number came later: older recordings end before it */
		CHECK(cut == bytes.len - 1 ? r == 0 && !(torn.have & CENSUS_SLAB) : r < 0);
	}
}

TEST(names_the_largest)
{
	AUTO_CENSUS_SUMMARY struct census_summary s = { 0 };
	char path[100];

	for (int i = 0; i < 5000; i++) {
		snprintf(path, sizeof(path), "/a/z%d", i);
		add(&s, path, (uint64_t)(i * 7919 % 5000) * 4096, (uint64_t)i);
	}
	CHECK_EQ(s.n_names, CENSUS_MOST_NAMES);
	for (size_t i = 0; i < s.n_names; i++)
		CHECK_EQ(s.names[i].bytes, (4999 - i) * 4096);
}

/* Half a million zombies of as many parents: nothing is lost, and the table stays bounded. */
TEST(bounded_whatever_comes)
{
	AUTO_CENSUS_SUMMARY struct census_summary s = { 0 };
	char path[100];
	uint64_t in_groups = 0;

	for (int i = 0; i < 500000; i++) {
		snprintf(path, sizeof(path), "/p%d/z", i);
		add(&s, path, 4096, (uint64_t)i);
	}
	census_summary_finish(&s);
	CHECK_EQ(s.groups.len, CENSUS_MOST_GROUPS);
	vec_foreach (&s.groups, g)
		in_groups += g->count;
	CHECK_EQ(in_groups + s.other_groups, 500000);
	CHECK(arena_bytes(&s.strings) < (8 << 20));
}

TEST(below_a_path)
{
	CHECK(zombie_is_below("/a/b", 4, "/a"));
	CHECK(zombie_is_below("/a/b", 4, "a"));
	CHECK(zombie_is_below("/a/b", 4, "/a/"));
	CHECK(zombie_is_below("/a", 2, "/a"));
	CHECK(zombie_is_below("/a", 2, NULL));
	CHECK(zombie_is_below("/a", 2, "/"));
	CHECK(!zombie_is_below("/ab", 3, "/a"));
	CHECK(!zombie_is_below("/b", 2, "/a"));
}

TEST_MAIN

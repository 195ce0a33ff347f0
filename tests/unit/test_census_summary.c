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
		/* the slab and then three names a group came later: older ones end before it */
		size_t slab = bytes.len - 4;
		CHECK(cut == slab       ? r == 0 && !(torn.have & CENSUS_SLAB)
		      : cut == slab + 1 ? r == 0
					: r < 0);
	}
}

TEST(a_group_has_the_name_that_all_of_it_has)
{
	AUTO_CENSUS_SUMMARY struct census_summary s = { 0 }, back = { 0 };
	AUTO_BUF struct buf bytes = { 0 };
	char path[300];

	for (int i = 0; i < 3; i++) { /* one container, three cgroups in it */
		snprintf(path, sizeof(path),
			 "/kubepods.slice/kubepods-pod6f0c8a6a_1b2c_4d3e_9f00_aabbccddeeff.slice/"
			 "cri-containerd-%064x.scope/c%d",
			 7, i);
		add(&s, path, 1, (uint64_t)i);
	}
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/docker/%064x", i);
		add(&s, path, 1, (uint64_t)i);
	}
	snprintf(path, sizeof(path), "/ecs/%032x/%064x", 5, 6);
	add(&s, path, 1, 9);
	census_summary_finish(&s);
	census_summary_encode(&bytes, &s, 10);
	CHECK_EQ(census_summary_decode(bytes.data, bytes.len, &back), 0);
	CHECK_EQ(back.groups.len, 3);
	const struct census_group *g = back.groups.items;
	CHECK_STR(g[0].pod, "6f0c8a6a-1b2c-4d3e-9f00-aabbccddeeff");
	CHECK_EQ(strlen(g[0].container), 64);
	CHECK(!g[1].container && !g[1].pod && !g[1].task); /* two containers */
	CHECK_EQ(strlen(g[2].task), 32);
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

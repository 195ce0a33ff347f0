#include "churn_summary.h"

#include <string.h>

#include "check.h"

TEST(lifetimes_and_creators)
{
	AUTO_CHURN_SUMMARY struct churn_summary s = { .from_ns = 5, .to_ns = 65000000000u },
						back = { 0 };
	AUTO_BUF struct buf bytes = { 0 };
	struct churn_event e = { .what = CHURN_MADE,
				 .mono_ns = 1000,
				 .id = 7,
				 .path = "/system.slice/ecs.service",
				 .comm = "systemd",
				 .own_cgroup = "/init.scope",
				 .parent_comm = "init",
				 .ppid = 3,
				 .pid = 1 };

	CHECK(churn_summary_add(&s, &e));
	e.what = CHURN_REMOVED;
	e.mono_ns = 3000;
	CHECK(churn_summary_add(&s, &e));
	e.what = CHURN_RELEASED;
	e.mono_ns = 10000;
	e.comm = NULL;
	CHECK(churn_summary_add(&s, &e));
	churn_summary_sort(&s);
	CHECK_EQ(s.groups.len, 1);
	CHECK_STR(s.groups.items[0].owner, "ecs.service");
	CHECK_STR(s.groups.items[0].creator, "systemd");
	CHECK_EQ(s.groups.items[0].lifetime_ns, 2000);
	CHECK_EQ(s.groups.items[0].zombie_ns, 7000);
	churn_summary_encode(&bytes, &s, 10);
	CHECK_EQ(churn_summary_decode(bytes.data, bytes.len, &back), 0);
	CHECK_STR(back.groups.items[0].creator_cgroup, "/init.scope");
	CHECK_STR(back.groups.items[0].creator_parent, "init");
	CHECK_EQ(back.groups.items[0].ppid, 3);
	CHECK_EQ(back.groups.items[0].released, 1);
	size_t parents = bytes.len - 6; /* one number and "init" with its length */
	for (size_t cut = 0; cut < bytes.len; cut++) {
		AUTO_CHURN_SUMMARY struct churn_summary torn = { 0 };
		/* without one of its last parts it is one of an older version */
		bool old = cut == parents || cut == parents - 2 || cut == parents - 3;
		int r = churn_summary_decode(bytes.data, cut, &torn);
		CHECK(old ? r == 0 : r < 0);
	}
	churn_summary_clear(&s);
	CHECK_EQ(s.groups.len, 0);
}

/* What was removed a moment ago is on its way out; what stays longer is left behind. */
TEST(young_ones_are_counted_apart)
{
	AUTO_CHURN_SUMMARY struct churn_summary s = { .from_ns = 5, .to_ns = 6 }, back = { 0 };
	AUTO_BUF struct buf bytes = { 0 };
	const uint64_t second = 1000000000;
	static const struct {
		uint64_t id, removed_s, released;
	} cgroups[] = { { 1, 10, 0 }, { 2, 19, 0 }, { 3, 20, 1 }, { 4, 20, 0 } };

	for (size_t i = 0; i < 4; i++) {
		struct churn_event e = { .what = CHURN_REMOVED,
					 .mono_ns = cgroups[i].removed_s * second,
					 .id = cgroups[i].id,
					 .path = "/system.slice/a.service" };
		CHECK(churn_summary_add(&s, &e));
		e.what = CHURN_RELEASED;
		if (cgroups[i].released)
			CHECK(churn_summary_add(&s, &e));
	}
	churn_summary_young(&s, 20 * second + second / 2);
	CHECK_EQ(s.groups.items[0].young, 1);
	churn_summary_sort(&s);
	churn_summary_encode(&bytes, &s, 10);
	CHECK_EQ(churn_summary_decode(bytes.data, bytes.len, &back), 0);
	CHECK_EQ(back.groups.items[0].young, 1);
	CHECK_EQ(back.groups.items[0].removed, 4);
}

TEST(zombies_of_a_stretch_keep_their_dates)
{
	AUTO_CHURN_SUMMARY struct churn_summary s = { .to_ns = 9 }, back = { 0 };
	AUTO_BUF struct buf bytes = { 0 };
	struct cgroup_life life = { .id = 42,
				    .created_ns = 1000,
				    .died_ns = 2000,
				    .creator = { .pid = 7,
						 .comm = "runc",
						 .cgroup = "/a",
						 .ppid = 5,
						 .parent_comm = "containerd-shim" } };

	for (unsigned i = 0; i < CHURN_MOST_ZOMBIES + 3; i++)
		CHECK(vec_push(&s.zombies, life));
	churn_summary_encode(&bytes, &s, 10);
	CHECK_EQ(churn_summary_decode(bytes.data, bytes.len, &back), 0);
	CHECK_EQ(back.zombies.len, CHURN_MOST_ZOMBIES);
	CHECK_EQ(back.zombies_left_out, 3);
	CHECK_EQ(back.zombies.items[5].died_ns, 2000);
	CHECK_STR(back.zombies.items[5].creator.comm, "runc");
	CHECK_STR(back.zombies.items[5].creator.cgroup, "/a");
	CHECK_EQ(back.zombies.items[5].creator.ppid, 5);
	CHECK_STR(back.zombies.items[5].creator.parent_comm, "containerd-shim");
}

/* A busy unit that leaves nothing is no culprit; a slow one that leaves each is. */
TEST(who_leaves_most_comes_first)
{
	AUTO_CHURN_SUMMARY struct churn_summary s = { .to_ns = 9 };
	struct churn_event e = { .path = "/system.slice/busy.service" };

	for (unsigned i = 0; i < 300; i++) {
		static const enum churn_what life[] = { CHURN_MADE, CHURN_REMOVED, CHURN_RELEASED };
		e.what = life[i % 3];
		e.id = i / 3 + 1;
		CHECK(churn_summary_add(&s, &e));
	}
	e.path = "/system.slice/leaky.service";
	for (unsigned i = 0; i < 10; i++) {
		e.what = i % 2 ? CHURN_REMOVED : CHURN_MADE;
		e.id = 1000 + i / 2;
		CHECK(churn_summary_add(&s, &e));
	}
	churn_summary_sort(&s);
	CHECK_STR(s.groups.items[0].owner, "leaky.service");
	CHECK_EQ(churn_group_left(&s.groups.items[0]), 5);
	CHECK_EQ(churn_group_left(&s.groups.items[1]), 0);
	s.groups.items[1].released++; /* one of before */
	CHECK_EQ(churn_group_left(&s.groups.items[1]), 0);
}

/* Removed just before a stretch ended, and nothing more was heard: left behind in the next. */
TEST(young_ones_grow_old)
{
	AUTO_CHURN_SUMMARY struct churn_summary a = { .from_ns = 10, .to_ns = 20 },
						b = { .from_ns = 20, .to_ns = 30 }, sum = { 0 };
	struct churn_event e = { .what = CHURN_REMOVED, .id = 1, .path = "/a/b", .mono_ns = 5 };

	CHECK(churn_summary_add(&a, &e));
	churn_summary_young(&a, 6);
	CHECK(churn_summary_merge(&sum, &a));
	CHECK_EQ(churn_group_left(&sum.groups.items[0]), 0);
	CHECK(churn_summary_merge(&sum, &b));
	CHECK_EQ(churn_group_left(&sum.groups.items[0]), 1);
}

TEST(stretches_add_up)
{
	AUTO_CHURN_SUMMARY struct churn_summary a = { .from_ns = 10, .to_ns = 20 },
						b = { .from_ns = 20, .to_ns = 30 }, sum = { 0 };
	struct churn_event e = {
		.what = CHURN_MADE, .id = 1, .path = "/docker/0123456789ab", .comm = "runc"
	};

	CHECK(churn_summary_add(&a, &e) && churn_summary_add(&b, &e) && churn_summary_add(&b, &e));
	e.path = "/system.slice/cron.service";
	CHECK(churn_summary_add(&b, &e));
	CHECK(churn_summary_merge(&sum, &a) && churn_summary_merge(&sum, &b));
	churn_summary_sort(&sum);
	CHECK_EQ(sum.groups.len, 2);
	CHECK_EQ(sum.groups.items[0].made, 3);
	CHECK_EQ(sum.from_ns, 10);
	CHECK_EQ(sum.to_ns, 30);
}

TEST_MAIN

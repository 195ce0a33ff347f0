#include "cgroup_lives.h"

#include "check.h"
#include "churn_summary.h"

enum { OFFSET = 1000000 };

TEST(a_life_from_events)
{
	AUTO_CGROUP_LIVES struct cgroup_lives l = { 0 };
	struct zombie z = { .id = 7 };
	struct churn_event e = { .what = CHURN_MADE,
				 .mono_ns = 10,
				 .id = 7,
				 .path = "/x",
				 .comm = "runc",
				 .own_cgroup = "/system.slice/docker.service",
				 .pid = 99 };

	CHECK(cgroup_lives_event(&l, &e, OFFSET));
	e.id = 8;
	CHECK(cgroup_lives_event(&l, &e, OFFSET));
	e.id = 7;
	e.what = CHURN_REMOVED;
	e.mono_ns = 30;
	CHECK(cgroup_lives_event(&l, &e, OFFSET));
	cgroup_lives_date(&l, &z);
	CHECK_EQ(z.created_ns, OFFSET + 10);
	CHECK_EQ(z.died_ns, OFFSET + 30);
	CHECK_STR(z.creator->comm, "runc");
	CHECK_EQ(z.creator->pid, 99);
	CHECK_STR(z.creator->cgroup, "/system.slice/docker.service");
	/* released: gone; the other stays where it was */
	e.what = CHURN_RELEASED;
	CHECK(cgroup_lives_event(&l, &e, OFFSET));
	CHECK(cgroup_lives_get(&l, 7) == NULL);
	CHECK_EQ(cgroup_lives_get(&l, 8)->created_ns, OFFSET + 10);
	CHECK_EQ(l.list.len, 1);
}

TEST(serial_numbers_bound_the_birth)
{
	AUTO_CGROUP_LIVES struct cgroup_lives l = { 0 };
	struct zombie old = { .id = 1, .serial = 50 }, mid = { .id = 2, .serial = 150 },
		      fresh = { .id = 3, .serial = 999 };

	CHECK(cgroup_lives_add_serial(&l, 1000, 1001, 100));
	CHECK(cgroup_lives_add_serial(&l, 2000, 2001, 100));
	CHECK(cgroup_lives_add_serial(&l, 3000, 3001, 200));
	CHECK(cgroup_lives_add_serial(&l, 4000, 4001, 90)); /* nonsense says nothing */
	cgroup_lives_date(&l, &old);
	CHECK_EQ(old.have, ZOMBIE_CREATED_BEFORE);
	CHECK_EQ(old.created_before_ns, 1001);
	cgroup_lives_date(&l, &mid);
	CHECK_EQ(mid.created_after_ns, 2000);
	CHECK_EQ(mid.created_before_ns, 3001);
	cgroup_lives_date(&l, &fresh);
	CHECK_EQ(fresh.have, ZOMBIE_CREATED_AFTER);
	CHECK_EQ(fresh.created_after_ns, 3000);
}

TEST_MAIN

#include "cgroup_counts.h"

#include <errno.h>

#include "cgroup_walk.h"
#include "check.h"
#include "fake_root.h"
#include "proc_cgroups.h"
#include "quota.h"

TEST(the_memory_line)
{
	struct rec_cgroups c = { 0 };
	struct err err;

	CHECK_EQ(proc_cgroups_parse("#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
				    "memory\t4\t68680\t1\n",
				    &c, &err),
		 0);
	CHECK_EQ(c.tracked, 68680);
	CHECK_EQ(proc_cgroups_parse("cpu\t1\t1\t1\n", &c, &err), -ENODATA);
	CHECK_STR(err.text, "/proc/cgroups: no memory controller");
	CHECK_EQ(proc_cgroups_parse("memory\t4\n", &c, &err), -ENODATA);
}

static struct rec_cgroups judged(struct rec_cgroups c, struct offer o)
{
	cgroup_counts_judge(&c, &o);
	return c;
}

TEST(what_is_dying_where)
{
	struct offer v1 = { .memory = CGROUP_MEMORY_V1 }, v2 = { .memory = CGROUP_MEMORY_V2 };
	struct rec_cgroups c =
		judged((struct rec_cgroups){ .tracked = 68680,
					     .live = 240,
					     .have = REC_CGROUPS_TRACKED | REC_CGROUPS_LIVE },
		       v1);

	CHECK_EQ(c.dying, 68440);
	/* one was made between the two readings */
	c = judged((struct rec_cgroups){ .tracked = 5,
					 .live = 6,
					 .have = REC_CGROUPS_TRACKED | REC_CGROUPS_LIVE },
		   v1);
	CHECK_EQ(c.dying, 0);
	CHECK(c.have & REC_CGROUPS_DYING);
	c = (struct rec_cgroups){ 0 };
	CHECK_EQ(cgroup_stat_parse("nr_descendants 239\nnr_subsys_memory 240\n"
				   "nr_dying_descendants 70000\nnr_dying_subsys_memory 68440\n",
				   &c, NULL),
		 0);
	c = judged(c, v2);
	CHECK_EQ(c.live, 240);
	CHECK_EQ(c.dying, 68440);
	CHECK_EQ(c.tracked, 68680);
	c = (struct rec_cgroups){ 0 };
	CHECK_EQ(cgroup_stat_parse("nr_descendants 9\nnr_dying_descendants 7\n", &c, NULL), 0);
	CHECK_EQ(judged(c, v2).dying, 7);
	/* in a container the difference is no zombie count */
	v1.namespaced = true;
	c = judged((struct rec_cgroups){ .tracked = 68680, .have = REC_CGROUPS_TRACKED }, v1);
	CHECK(!(c.have & (REC_CGROUPS_DYING | REC_CGROUPS_LIVE)));
}

TEST(directories_are_counted_and_files_are_not)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	uint64_t n = 99;
	char path[100];

	for (unsigned i = 0; i < 50; i++) {
		snprintf(path, sizeof(path), "cg/a%u/b/c/file", i);
		fake_root_put(&fake, path, "");
	}
	fake_root_put(&fake, "cg/tasks", "");
	fake_root_put(&fake, "cg/lone/x", "");
	snprintf(path, sizeof(path), "%s/cg/link", fake.dir);
	CHECK_EQ(symlink("/", path), 0);
	CHECK_EQ(cgroup_walk(&fake.root, "cg", NULL, NULL, &n, NULL), 0);
	CHECK_EQ(n, 151);
	CHECK_EQ(cgroup_walk(&fake.root, "none", NULL, NULL, &n, NULL), -ENOENT);
}

TEST(quotas_of_both_kinds)
{
	struct rec_quota q = { 0 };

	CHECK_EQ(quota_parse_max("max 100000\n", &q), -ENODATA);
	CHECK_EQ(quota_parse_max("50000 100000\n", &q), 0);
	CHECK_EQ(q.quota, 50000);
	CHECK_EQ(quota_parse_stat(
			 "usage_usec 1\nnr_periods 10\nnr_throttled 4\nthrottled_usec 900\n", true,
			 &q),
		 0);
	CHECK_EQ(q.throttled, 4);
	CHECK_EQ(q.throttled_time, 900);
	CHECK_EQ(quota_parse_stat("nr_periods 10\nthrottled_time 900000\n", false, &q), 0);
	CHECK_EQ(q.throttled_time, 900);
}

TEST_MAIN

#include "tick_source.h"

#include <string.h>

#include "check.h"
#include "fake_root.h"
#include "rec_cgroups.h"
#include "rec_cpu.h"
#include "rec_irq.h"
#include "rec_quota.h"
#include "rec_task.h"

static bool named(const struct unknowns *u, const char *what)
{
	vec_foreach (&u->list, it)
		if (strcmp(it->what, what) == 0)
			return true;
	return false;
}

static void put_host(struct fake_root *fake)
{
	fake_root_put(fake, "proc/stat", "cpu0 1 2 3 4 5 6 7 8 9 10\nctxt 5\n");
	fake_root_put(fake, "proc/cgroups", "#name\nmemory\t4\t68680\t1\n");
	fake_root_put(fake, "proc/self/mountinfo",
		      "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
		      "36 31 0:33 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
	fake_root_put(fake, "sys/fs/cgroup/memory/system.slice/sshd/tasks", "");
	fake_root_put(fake, "sys/fs/cgroup/cpu/pod/cpu.cfs_quota_us", "50000\n");
	fake_root_put(fake, "sys/fs/cgroup/cpu/pod/cpu.cfs_period_us", "100000\n");
	fake_root_put(fake, "sys/fs/cgroup/cpu/pod/cpu.stat",
		      "nr_periods 10\nnr_throttled 4\nthrottled_time 9000\n");
	fake_root_put(fake, "sys/fs/cgroup/cpu/free/cpu.cfs_quota_us", "-1\n");
	fake_root_put(fake, "sys/class/net/eth0/device/msi_irqs/34", "msix\n");
	fake_root_put(fake, "sys/kernel/irq/34/per_cpu_count", "7\n");
	fake_root_put(
		fake, "proc/17/stat",
		"17 (ksoftirqd/0) S 2 0 0 0 -1 69238848 0 0 0 0 0 3 0 0 20 0 1 0 5 0 0 0 0 0 0 "
		"0 0 0 0 0 0 0 0 0 17 0 0");
	fake_root_put(fake, "proc/17/comm", "ksoftirqd/0\n");
	fake_root_put(
		fake, "proc/42/stat",
		"42 (kubelet) R 1 0 0 0 -1 0 0 0 0 0 100 900 0 0 20 0 9 0 77 0 0 0 0 0 0 0 0 0 0 "
		"0 0 0 0 0 17 0 0");
	fake_root_put(fake, "proc/42/cgroup", "4:memory:/system.slice/kubelet.service\n");
	fake_root_put(fake, "proc/42/comm", "kubelet\n");
}

TEST(only_the_kinds_asked_for)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	AUTO_TICK struct tick t = { 0 };
	AUTO_UNKNOWNS struct unknowns u = { 0 };
	struct tick_source_options options = { .kinds = TICK_KIND(REC_CPU) };
	struct tick_source *s;

	put_host(&fake);
	CHECK_EQ(tick_source_open(&fake.root, &options, &s, NULL), 0);
	CHECK_EQ(tick_source_read(s, &t, &u), 0);
	for (unsigned kind = 0; kind < REC_KIND_END; kind++)
		CHECK_EQ(t.rows[kind].len, kind == REC_CPU);
	CHECK_EQ(u.list.len, 0);
	tick_source_close(s);
}

TEST(a_whole_tick_of_a_host)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	AUTO_TICK struct tick t = { 0 };
	AUTO_UNKNOWNS struct unknowns u = { 0 };
	struct tick_source_options options = { .thorough = true };
	struct tick_source *s;

	put_host(&fake);
	CHECK_EQ(tick_source_open(&fake.root, &options, &s, NULL), 0);
	CHECK_EQ(tick_source_read(s, &t, &u), 0);
	CHECK_EQ(t.rows[REC_CPU].len, 1);
	const struct rec_cgroups *c = TICK_ROW(&t, REC_CGROUPS, rec_cgroups, 0);
	CHECK_EQ(c->tracked, 68680);
	CHECK_EQ(c->live, 3);
	CHECK_EQ(c->dying, 68677);
	CHECK_EQ(t.rows[REC_QUOTA].len, 1);
	CHECK_STR(TICK_ROW(&t, REC_QUOTA, rec_quota, 0)->cgroup, "pod");
	CHECK_EQ(TICK_ROW(&t, REC_QUOTA, rec_quota, 0)->throttled_time, 9);
	CHECK_EQ(t.rows[REC_IRQ].len, 1);
	CHECK_EQ(t.rows[REC_TASK].len, 2);
	CHECK_STR(TICK_ROW(&t, REC_TASK, rec_task, 0)->comm, "ksoftirqd/0");
	const struct rec_task *task = TICK_ROW(&t, REC_TASK, rec_task, 1);
	CHECK_STR(task->cgroup, "/system.slice/kubelet.service");
	CHECK(!(task->have & REC_TASK_RECENT));
	CHECK(named(&u, "memory"));
	CHECK(!named(&u, "time of cores"));
	/* half a second of CPU time later */
	fake_root_put(
		&fake, "proc/42/stat",
		"42 (kubelet) R 1 0 0 0 -1 0 0 0 0 0 100 950 0 0 20 0 9 0 77 0 0 0 0 0 0 0 0 0 0 "
		"0 0 0 0 0 17 0 0");
	CHECK_EQ(tick_source_read(s, &t, &u), 0);
	task = TICK_ROW(&t, REC_TASK, rec_task, 1);
	CHECK(task->have & REC_TASK_RECENT);
	CHECK_EQ(task->recent, 500000000);
	tick_source_close(s);
}

TEST(an_empty_tree_names_what_is_missing)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	AUTO_TICK struct tick t = { 0 };
	AUTO_UNKNOWNS struct unknowns u = { 0 };
	struct tick_source *s;

	CHECK_EQ(tick_source_open(&fake.root, NULL, &s, NULL), 0);
	CHECK_EQ(tick_source_read(s, &t, &u), 0);
	CHECK(named(&u, "time of cores"));
	CHECK(named(&u, "tracked memory cgroups"));
	CHECK(named(&u, "processes"));
	CHECK_EQ(t.rows[REC_CPU].len, 0);
	tick_source_close(s);
}

TEST(shedding_keeps_the_cores)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	AUTO_TICK struct tick t = { 0 };
	AUTO_UNKNOWNS struct unknowns u = { 0 };
	struct tick_source *s;

	put_host(&fake);
	CHECK_EQ(tick_source_open(&fake.root, NULL, &s, NULL), 0);
	tick_source_shed(s, 3);
	CHECK_EQ(tick_source_read(s, &t, &u), 0);
	CHECK_EQ(t.rows[REC_CPU].len, 1);
	CHECK_EQ(t.rows[REC_CGROUPS].len, 1);
	CHECK_EQ(t.rows[REC_TASK].len, 0);
	CHECK_EQ(t.rows[REC_QUOTA].len, 0);
	tick_source_close(s);
}

/* On this very kernel: what the kernel counts cannot be less than what we see of it. */
TEST(the_live_host)
{
	AUTO_TICK struct tick t = { 0 };
	AUTO_UNKNOWNS struct unknowns u = { 0 };
	AUTO_ROOT struct root root;
	struct tick_source *s;

	CHECK_EQ(root_open(NULL, &root, NULL), 0);
	CHECK_EQ(tick_source_open(&root, NULL, &s, NULL), 0);
	CHECK_EQ(tick_source_read(s, &t, &u), 0);
	CHECK(t.rows[REC_CPU].len >= 1);
	CHECK(TICK_ROW(&t, REC_CPU, rec_cpu, 0)->have & REC_CPU_IDLE);
	tick_source_close(s);
}

TEST_MAIN

#include "check.h"
#include "holder.h"

static uint32_t stack_of(struct profile *p, const char *const *root_first, size_t n)
{
	uint32_t stack = 0;
	for (size_t i = 0; i < n; i++) {
		struct profile_frame f = { .symbol = profile_add_text(p, root_first[i]),
					   .kind = PROFILE_KERNEL };
		stack = profile_add_stack(p, stack, profile_add_frame(p, &f));
	}
	return stack;
}

static void put(struct profile *p, uint64_t time_ns, unsigned cpu, unsigned pid, const char *comm,
		uint32_t stack)
{
	struct profile_sample s = { .time_ns = time_ns,
				    .cpu = (uint16_t)cpu,
				    .pid = pid,
				    .tid = pid,
				    .stack = stack,
				    .weight = 1,
				    .comm = profile_add_text(p, comm),
				    .have = PROFILE_HAVE_TIME | PROFILE_HAVE_CPU |
					    PROFILE_HAVE_PID };
	CHECK(profile_add_sample(p, &s));
}

TEST(names_the_holder_and_the_walk)
{
	AUTO_PROFILE struct profile p = { 0 };
	AUTO_WALKERS struct walkers w = { 0 };
	static const char *const walk[] = { "entry_SYSCALL_64_after_hwframe", "do_syscall_64",
					    "memcg_numa_stat_show", "mem_cgroup_nr_lru_pages" };
	static const char *const other[] = { "do_syscall_64", "ksys_read" };
	struct holder h;

	CHECK_EQ(profile_init(&p), 0);
	uint32_t walking = stack_of(&p, walk, 4), reading = stack_of(&p, other, 2);
	for (uint64_t i = 0; i < 90; i++)
		put(&p, 1000 + i, 39, 4711, "kubelet", walking);
	for (uint64_t i = 0; i < 10; i++)
		put(&p, 1000 + i, 39, 4711, "kubelet", reading);
	for (uint64_t i = 0; i < 5; i++)
		put(&p, 1000 + i, 39, 1, "init", reading);
	put(&p, 1000, 2, 7, "other", reading);
	CHECK(holder_of_core(&p, 39, 1000, 2000, &h));
	CHECK_EQ(h.pid, 4711);
	CHECK_STR(h.comm, "kubelet");
	CHECK_STR(h.function, "mem_cgroup_nr_lru_pages");
	CHECK_NEAR(h.share, 100.0 * 100 / 105, 0.01);
	CHECK(!holder_of_core(&p, 40, 1000, 2000, &h));
	CHECK(!holder_of_core(&p, 39, 2000, 3000, &h));
	CHECK_EQ(walkers_find(&p, &w), 0);
	CHECK_EQ(w.list.len, 1);
	CHECK_EQ(w.list.items[0].walking, 90);
	CHECK_EQ(w.list.items[0].samples, 100);
	CHECK_EQ(w.list.items[0].cpu, 39);
	CHECK_STR(w.list.items[0].function, "memcg_numa_stat_show");
}

TEST(suffixes_of_the_compiler_do_not_hide_a_walk)
{
	CHECK(walker_is_walk("mem_cgroup_iter.constprop.0"));
	CHECK(!walker_is_walk("mem_cgroup_charge"));
	CHECK(!walker_is_walk(""));
}

TEST_MAIN

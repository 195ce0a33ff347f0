#include "core_times.h"

#include "check.h"
#include "core_times_kernel.h"
#include "fake_root.h"
#include "rec_load.h"

#define TICKS(n) ((n)*UINT64_C(10000000))

static struct core_times_rec a_core(void)
{
	return (struct core_times_rec){
		.rq = 1,
		.online = 1,
		/* usr, nice, sys, softirq, irq, idle and iowait (not used), steal, guest, gnice */
		.times_ns = { TICKS(10) + 9999999, TICKS(20), TICKS(30), TICKS(40), TICKS(50), 777,
			      888, TICKS(60), TICKS(70), TICKS(80) },
		.idle_ns = TICKS(1000) + 1,
		.iowait_ns = TICKS(5),
		.idle_since_ns = TICKS(3),
		.now_ns = TICKS(9),
	};
}

TEST(a_core_as_proc_stat_tells_it)
{
	struct core_times_rec rec = a_core();
	struct rec_cpu row;

	core_times_row(&rec, 7, &row);
	CHECK_EQ(row.have, (REC_CPU_GUEST_NICE << 1) - 1);
	CHECK_EQ(row.cpu, 7);
	CHECK_EQ(row.usr, 10);
	CHECK_EQ(row.nice, 20);
	CHECK_EQ(row.sys, 30);
	CHECK_EQ(row.softirq, 40);
	CHECK_EQ(row.irq, 50);
	CHECK_EQ(row.steal, 60);
	CHECK_EQ(row.guest, 70);
	CHECK_EQ(row.guest_nice, 80);
	CHECK_EQ(row.idle, 1000);
	CHECK_EQ(row.iowait, 5);
}

TEST(the_sleep_that_goes_on_counts)
{
	struct core_times_rec rec = a_core();
	struct rec_cpu row;

	rec.idles = 1;
	core_times_row(&rec, 0, &row);
	CHECK_EQ(row.idle, 1006);
	CHECK_EQ(row.iowait, 5);
	rec.waiting = 2;
	core_times_row(&rec, 0, &row);
	CHECK_EQ(row.idle, 1000);
	CHECK_EQ(row.iowait, 11);
	/* the clock of another core may be a little behind */
	rec.now_ns = rec.idle_since_ns - 1;
	core_times_row(&rec, 0, &row);
	CHECK_EQ(row.idle, 1000);
	CHECK_EQ(row.iowait, 5);
}

static void put_core(struct tick *t, const struct rec_cpu *core)
{
	struct rec_cpu *row = tick_add_row(t, REC_CPU);

	CHECK(row != NULL);
	*row = *core;
}

/* Whether a row between two others is believed. */
static bool believed(const struct rec_cpu *a, const struct rec_cpu *b, const struct rec_cpu *c)
{
	AUTO_TICK struct tick before = { 0 }, between = { 0 }, after = { 0 };

	put_core(&before, a);
	put_core(&between, b);
	put_core(&after, c);
	return core_times_agree(&before, &between, &after);
}

TEST(only_what_lies_between_is_believed)
{
	struct core_times_rec rec = a_core();
	struct rec_cpu a, b, c;

	core_times_row(&rec, 7, &a);
	b = c = a;
	CHECK(believed(&a, &b, &c));
	c.sys += 2;
	b.sys += 1;
	CHECK(believed(&a, &b, &c));
	b.sys += 2;
	CHECK(!believed(&a, &b, &c));
	b.sys = a.sys - 1;
	CHECK(!believed(&a, &b, &c));
	/* asleep: one or the other, by who waits just then */
	b = a;
	b.idle -= 4;
	b.iowait += 4;
	CHECK(believed(&a, &b, &c));
	b.iowait += 2;
	CHECK(!believed(&a, &b, &c));
	b = a;
	b.idle -= 2;
	CHECK(!believed(&a, &b, &c));
	/* another core, and what an older kernel does not count */
	b = a;
	b.cpu++;
	CHECK(!believed(&a, &b, &c));
	b = a;
	a.have = c.have = REC_CPU_ID | REC_CPU_USR;
	CHECK(!believed(&a, &b, &c));
}

TEST(other_cores_are_not_believed)
{
	AUTO_TICK struct tick none = { 0 }, one = { 0 }, two = { 0 };
	struct rec_cpu core = { .have = 1 };

	put_core(&one, &core);
	put_core(&two, &core);
	core.cpu = 1;
	put_core(&two, &core);
	CHECK(core_times_agree(&one, &one, &one));
	CHECK(core_times_agree(&two, &two, &two));
	CHECK(!core_times_agree(&one, &two, &two));
	CHECK(!core_times_agree(&two, &two, &one));
	CHECK(!core_times_agree(&none, &none, &none));
}

TEST(another_tree_is_read_by_its_file)
{
	AUTO_FAKE_ROOT struct fake_root fake = fake_root_new();
	AUTO_TICK struct tick t = { 0 };
	struct offer offer = { .n_cpus = 1 };
	struct err err;

	struct core_times *c = core_times_open(&fake.root, &offer);
	CHECK(c != NULL);
	CHECK(!core_times_direct(c));
	CHECK(core_times_read(c, &t, &err) < 0);
	/* it may come later */
	fake_root_put(&fake, "proc/stat", "cpu  9 9 9\ncpu0 1 2 3 4 5 6 7 8 9 10\nctxt 5\n");
	CHECK_EQ(core_times_read(c, &t, &err), 0);
	CHECK_EQ(t.rows[REC_CPU].len, 1);
	CHECK_EQ(TICK_ROW(&t, REC_CPU, rec_cpu, 0)->steal, 8);
	CHECK(!core_times_read_direct(c, true, &t));
	CHECK_EQ(t.rows[REC_LOAD].len, 0);
	core_times_close(c);
	core_times_close(NULL);
}

TEST_MAIN

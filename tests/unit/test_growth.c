#include "growth.h"

#include "check.h"
#include "timefmt.h"

enum { MINUTES = 600 };

static const struct growth_onset incident = { .basis = GROWTH_BY_INCIDENT,
					      .zombies = GROWTH_INCIDENT };
static const struct zombie_verdict expected = { .id = "reclaim-and-ram", .percpu_bytes = 250000 };
static const struct growth_measured nothing;

/* Nothing but the count is known. */
static struct census_point counted(uint64_t time_ns, uint64_t dying)
{
	return (struct census_point){ .time_ns = time_ns, .dying = dying };
}

TEST(a_crash_loop_every_ten_seconds)
{
	struct census_point p[MINUTES];
	struct growth g;

	for (unsigned i = 0; i < MINUTES; i++)
		p[i] = counted((1000000 + i * 60) * NS_PER_S, 10000 + i * 6);
	p[300].dying = 0; /* one absurd reading does not bend it */
	growth_compute(p, MINUTES, 250000, &incident, &g);
	CHECK(g.known);
	CHECK_NEAR(g.rate_per_hour, 360.0, 1.0);
	CHECK_NEAR(g.reboot_days, 8.1, 0.1);
	CHECK_NEAR(g.doubling_hours, 13594 / 360.0, 0.5);
	CHECK_NEAR((double)(g.reaches_ns - p[MINUTES - 1].time_ns) / 3.6e12,
		   (70000 - 13594) / 360.0, 1.0);
	CHECK_NEAR((double)g.ram_bytes_per_day, 360.0 * 24 * 250000, 1e7);
}

TEST(ram_has_an_onset_of_its_own)
{
	struct census_point p[] = { counted(0, 1000), counted(3600 * NS_PER_S, 1360),
				    counted(7200 * NS_PER_S, 1720) };
	struct growth g;

	growth_compute(p, 3, 250000, &incident, &g); /* 90 MB an hour */
	growth_ram(&g, 1720, 250000, UINT64_C(64000000000));
	CHECK_EQ(g.ram_bytes_now, 430000000);
	CHECK_EQ(g.ram_limit_bytes, 6400000000);
	CHECK_NEAR((double)(g.ram_reaches_ns - p[2].time_ns) / 3.6e12, 5970.0 / 90, 0.01);
	growth_ram(&g, 1720, 250000, 1000000000); /* lost already */
	CHECK_EQ(g.ram_reaches_ns, p[2].time_ns);
	growth_compute(p, 3, 250000, &incident, &g);
	growth_ram(&g, 1720, 250000, 0); /* the host's RAM is not known */
	CHECK_EQ(g.ram_reaches_ns, 0);
	growth_compute(p, 3, 0, &incident, &g);
	growth_ram(&g, 1720, 0, 64000000000);
	CHECK_EQ(g.ram_bytes_now, 0);
	CHECK_EQ(g.ram_reaches_ns, 0);
}

TEST(too_little_says_nothing)
{
	struct census_point p[] = { counted(0, 1), counted(60 * NS_PER_S, 100),
				    counted(90 * NS_PER_S, 200) };
	struct growth g;

	growth_compute(p, 3, 0, &incident, &g);
	CHECK(!g.known);
	growth_compute(NULL, 0, 0, &incident, &g);
	CHECK(!g.known);
}

TEST(falling_has_no_forecast)
{
	struct census_point p[10];
	struct growth g;

	for (unsigned i = 0; i < 10; i++)
		p[i] = counted(i * 3600 * NS_PER_S, 1000 - i * 10);
	growth_compute(p, 10, 0, &incident, &g);
	CHECK(g.known && g.rate_per_hour < 0);
	CHECK_EQ(g.reaches_ns, 0);
}

/* The culprit was stopped, its zombies are still there. */
TEST(what_is_reached_is_reached_also_when_nothing_grows)
{
	struct census_point p[61];
	struct footprint f;
	struct growth g;

	for (unsigned i = 0; i < 61; i++)
		p[i] = counted((1000000 + i * 60) * NS_PER_S, 72000);
	growth_judge(p, 61, &expected, &nothing, UINT64_C(64000000000), &f, &g);
	CHECK_EQ(g.reaches_ns, p[60].time_ns);
	CHECK_EQ(g.ram_reaches_ns, p[60].time_ns);
	CHECK_NEAR(g.rate_per_hour, 0, 0.001);
	growth_judge(p, 61, &expected, &nothing, UINT64_C(640000000000), &f, &g);
	CHECK_EQ(g.ram_reaches_ns, 0); /* a tenth of so much is far, and nothing grows */
}

TEST(footprint_is_measured_where_the_number_moved)
{
	struct census_point p[101];
	struct footprint f;

	for (unsigned i = 0; i < 100; i++)
		p[i] = (struct census_point){ i, 1000 + i * 50, 5000000 + i * 50 * 4100,
					      90000000 + i * 50 * 13000 + i % 7 * 1000 };
	p[100] = counted(100, 900000); /* not weighed: passed over */
	footprint_measure(p, 101, &f);
	CHECK(f.known);
	CHECK_NEAR((double)f.percpu_bytes, 4100.0, 10.0);
	CHECK_NEAR((double)f.slab_bytes, 13000.0, 100.0);
	CHECK_EQ(f.change, 4950);
	for (unsigned i = 0; i < 100; i++) /* others gave back more slab than zombies took */
		p[i].slab_bytes = 90000000 - i * 1000;
	footprint_measure(p, 100, &f);
	CHECK(!f.known);
	footprint_measure(p, 5, &f); /* 200 zombies are too few */
	CHECK(!f.known);
	footprint_measure(p, 0, &f);
	CHECK(!f.known);
}

TEST(judged_as_measured_else_as_expected)
{
	struct census_point p[61];
	struct footprint f;
	struct growth g;

	for (unsigned i = 0; i <= 60; i++)
		p[i] = (struct census_point){ i * 60 * NS_PER_S, 1000 + i * 10,
					      5000000 + i * 10 * 4000, 90000000 + i * 10 * 6000 };
	growth_judge(p, 61, &expected, &nothing, UINT64_C(64000000000), &f, &g);
	CHECK(f.known && g.known);
	CHECK_EQ(g.ram_bytes_now, 1600 * 10000);
	CHECK_NEAR((double)g.ram_bytes_per_day, 600.0 * 24 * 10000, 1e6);
	CHECK(g.ram_reaches_ns > g.to_ns && g.reaches_ns > g.to_ns);
	growth_judge(p, 31, &expected, &nothing, UINT64_C(64000000000), &f,
		     &g); /* 300 are too few to measure */
	CHECK(!f.known && g.known);
	CHECK_EQ(g.ram_bytes_now, 1300 * 250000);
	growth_judge(p, 31, NULL, &nothing, UINT64_C(64000000000), &f, &g); /* nor expected */
	CHECK_EQ(g.ram_bytes_now, 0);
	CHECK_EQ(g.ram_reaches_ns, 0);
	CHECK(g.reaches_ns > 0);
	growth_judge(NULL, 0, &expected, &nothing, UINT64_C(64000000000), &f, &g);
	CHECK(!f.known && !g.known);
}

static struct growth_onset onset(const char *kernel, const struct growth_measured *m)
{
	struct zombie_verdict v;
	struct growth_onset o;

	CHECK_EQ(zombie_verdict_of(kernel, true, 96, &v), 0);
	growth_onset_of(&v, m, &o);
	return o;
}

TEST(the_onset_of_reads_is_measured)
{
	/* 10,000 zombies and 240 others: 550 ms */
	struct growth_measured m = { .read_ns = 550000000, .tracked = 10240, .dying = 10000 };
	struct growth_onset o = onset("5.4.0", &m);

	CHECK_EQ(o.basis, GROWTH_BY_READS);
	CHECK_NEAR((double)o.zombies, 10240 / 0.55 - 240, 1.0);
	CHECK_NEAR(o.ns_per_zombie, 53711, 1.0);
	m.dying = 100; /* too few to tell */
	CHECK_EQ(onset("5.4.0", &m).basis, GROWTH_BY_INCIDENT);
	CHECK_EQ(onset("5.4.0", &nothing).zombies, 70000);
	m.dying = 10000; /* reads are no measure where they stay fast */
	CHECK_EQ(onset("6.1.0", &m).basis, GROWTH_BY_INCIDENT);
	growth_onset_of(NULL, &m, &o); /* the kernel is not known */
	CHECK_EQ(o.basis, GROWTH_BY_INCIDENT);
}

TEST(the_onset_of_reclaim_is_measured)
{
	struct reclaim_point p[20];
	struct growth_measured m = { .dying = 20000, .reclaim = p, .n_reclaim = 20 };

	for (unsigned i = 0; i < 20; i++) /* 3.5 us a zombie, and 2 ms without one */
		p[i] = (struct reclaim_point){ 7, 1000 + i * 1000,
					       2000000 + (1000 + i * 1000) * 3500 };
	struct growth_onset o = onset("6.1.0", &m);
	CHECK_EQ(o.basis, GROWTH_BY_RECLAIM);
	CHECK_NEAR((double)o.zombies, 998000000 / 3500.0, 2.0);
	CHECK_EQ(o.measured_over, 19000);
	m.n_reclaim = 3; /* too little */
	CHECK_EQ(onset("6.1.0", &m).basis, GROWTH_BY_INCIDENT);
	m.n_reclaim = 20;
	m.dying = 80000; /* of a cgroup that has a quarter of them: its growth is not the host's */
	CHECK_EQ(onset("6.1.0", &m).basis, GROWTH_BY_INCIDENT);
	m.dying = 20000;
	for (unsigned i = 0; i < 20; i++) /* they do not get longer */
		p[i].p99_ns = 5000000 - i;
	CHECK_EQ(onset("6.1.0", &m).basis, GROWTH_BY_INCIDENT);
}

TEST(a_kernel_that_hands_pages_on_has_no_onset)
{
	struct census_point p[61];
	struct zombie_verdict v;
	struct footprint f;
	struct growth g;

	for (unsigned i = 0; i < 61; i++)
		p[i] = counted((1000000 + i * 60) * NS_PER_S, 90000 + i);
	CHECK_EQ(zombie_verdict_of("7.1.0", false, 2, &v), 0);
	growth_judge(p, 61, &v, &nothing, UINT64_C(64000000000), &f, &g);
	CHECK(g.known && g.rate_per_hour > 0);
	CHECK_EQ(g.onset.basis, GROWTH_BY_NOTHING);
	CHECK_EQ(g.reaches_ns, 0);
	CHECK_NEAR(g.reboot_days, 0, 0.001);
	CHECK(g.ram_bytes_per_day > 0);
}

TEST(verdict_of_a_recording)
{
	struct census_summary s = { .have = CENSUS_DYING };
	struct zombie_verdict v;

	CHECK(zombie_verdict_recorded(&s, "5.4.0", 96, &v) < 0); /* v1 or v2? */
	s.have |= CENSUS_KERNEL_COUNT;
	CHECK_EQ(zombie_verdict_recorded(&s, "5.4.0", 96, &v), 0);
	CHECK_STR(v.id, "stat-reads");
	s.kernel_counts_dying = true;
	CHECK_EQ(zombie_verdict_recorded(&s, "5.4.0", 96, &v), 0);
	CHECK_STR(v.id, "reclaim-and-ram");
}

TEST(verdict_depends_on_the_kernel)
{
	struct zombie_verdict v;

	CHECK_EQ(zombie_verdict_of("5.4.0-1146-aws", true, 96, &v), 0);
	CHECK_STR(v.id, "stat-reads");
	CHECK_EQ(v.percpu_bytes, 2690 * 96);
	CHECK_EQ(zombie_verdict_of("5.4.0", false, 96, &v), 0);
	CHECK_STR(v.id, "reclaim-and-ram");
	CHECK_EQ(zombie_verdict_of("6.18.44-fc", true, 2, &v), 0);
	CHECK_STR(v.id, "reclaim-and-ram");
	CHECK_EQ(zombie_verdict_of("7.0.1", false, 2, &v), 0);
	CHECK_STR(v.id, "reclaim-and-ram");
	CHECK_EQ(zombie_verdict_of("7.2-rc1", false, 2, &v), 0);
	CHECK_STR(v.id, "references");
	CHECK(zombie_verdict_of("", false, 2, &v) < 0);
}

TEST_MAIN

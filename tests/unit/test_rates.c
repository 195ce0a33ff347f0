#include "rates.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "hot.h"
#include "rec_cpu.h"
#include "rec_quota.h"
#include "rec_softnet.h"
#include "rec_vmstat.h"
#include "timefmt.h"

#define S NS_PER_S

static struct rec_cpu *put_cpu(struct tick *t, uint64_t cpu, const uint64_t values[10])
{
	struct rec_cpu *c = tick_add_row(t, REC_CPU);

	c->cpu = cpu;
	memcpy(&c->usr, values, 10 * sizeof(*values));
	c->have = (1 << 11) - 1;
	return c;
}

/* usr nice sys idle iowait irq softirq steal guest guest_nice */
#define CPU(t, cpu, ...) put_cpu(t, cpu, (const uint64_t[10]){ __VA_ARGS__ })

static struct tick at(uint64_t second)
{
	return (struct tick){ .real_ns = (1000 + second) * S,
			      .mono_ns = second * S,
			      .boot_ns = second * S };
}

TEST(percentages_as_mpstat_defines_them)
{
	AUTO_TICK struct tick a = at(1);
	AUTO_TICK struct tick b = at(2);
	AUTO_RATES struct rates r = { 0 };

	CPU(&a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	CPU(&a, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	CPU(&b, 0, 30, 10, 20, 10, 10, 5, 5, 10, 20, 4); /* guests are inside usr and nice */
	CPU(&b, 1, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0);
	CHECK_EQ(rates_compute(&a, &b, &r), 0);
	CHECK_EQ(r.cpus.len, 2);
	const struct rate_cpu *c = &r.cpus.items[0];
	CHECK_NEAR(c->usr, 10.0, 1e-9);
	CHECK_NEAR(c->guest, 20.0, 1e-9);
	CHECK_NEAR(c->nice, 6.0, 1e-9);
	CHECK_NEAR(c->gnice, 4.0, 1e-9);
	CHECK_NEAR(c->sys, 20.0, 1e-9);
	CHECK_NEAR(c->steal, 10.0, 1e-9);
	CHECK_NEAR(rate_cpu_busy(c), 80.0, 1e-9);
	CHECK_NEAR(r.all.idle, 55.0, 1e-9);
}

TEST(a_core_without_rates_is_named)
{
	AUTO_TICK struct tick a = at(1);
	AUTO_TICK struct tick b = at(2);
	AUTO_RATES struct rates r = { 0 };

	CPU(&a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	CPU(&a, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	CPU(&a, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)->have = REC_CPU_ID;
	CPU(&a, 4, 9, 0, 9, 9, 0, 0, 0, 0, 0, 0);
	CPU(&b, 0, 50, 0, 0, 50, 0, 0, 0, 0, 0, 0);
	CPU(&b, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)->have = REC_CPU_ID;
	CPU(&b, 2, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0);
	CPU(&b, 3, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0);
	CPU(&b, 4, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0);
	for (int again = 0; again < 2; again++) { /* the list is of this pair, not of all */
		CHECK_EQ(rates_compute(&a, &b, &r), 0);
		CHECK_EQ(r.cpus.len, 1);
		CHECK_EQ(r.unknown.len, 4);
		for (size_t i = 0; i < 4; i++)
			CHECK_EQ(r.unknown.items[i].cpu, i + 1);
		CHECK_EQ(r.unknown.items[0].why, RATE_MISSING_UNREADABLE);
		CHECK_EQ(r.unknown.items[1].why, RATE_MISSING_UNREADABLE);
		CHECK_EQ(r.unknown.items[2].why, RATE_MISSING_CAME);
		CHECK_EQ(r.unknown.items[3].why, RATE_MISSING_RESET);
		CHECK_EQ(r.offline.len, 0);
	}
}

TEST(a_core_that_slept_was_idle)
{
	AUTO_TICK struct tick a = at(1);
	AUTO_TICK struct tick b = at(2);
	AUTO_RATES struct rates r = { 0 };

	CPU(&a, 0, 5, 5, 5, 5, 5, 5, 5, 5, 0, 0);
	CPU(&b, 0, 5, 5, 5, 5, 5, 5, 5, 5, 0, 0);
	CHECK_EQ(rates_compute(&a, &b, &r), 0);
	CHECK_NEAR(r.cpus.items[0].idle, 100.0, 0);
}

TEST(hotplug_and_resets)
{
	AUTO_TICK struct tick a = at(1);
	AUTO_TICK struct tick b = at(2);
	AUTO_RATES struct rates r = { 0 };

	CPU(&a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	CPU(&a, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0); /* goes offline */
	CPU(&a, 3, 500, 0, 500, 9000, 0, 0, 0, 0, 0, 0);
	CPU(&b, 0, 0, 0, 50, 50, 0, 0, 0, 0, 0, 0);
	CPU(&b, 2, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9); /* comes online */
	CPU(&b, 3, 1, 0, 1, 2, 0, 0, 0, 0, 0, 0); /* counters start anew */
	CHECK_EQ(rates_compute(&a, &b, &r), 0);
	CHECK_EQ(r.cpus.len, 1);
	CHECK_NEAR(r.all.sys, 50.0, 1e-9);
	CHECK_EQ(r.offline.len, 1);
	CHECK_EQ(r.offline.items[0], 1);

	AUTO_TICK struct tick c = at(3);
	CPU(&c, 0, 0, 0, 60, 60, 0, 0, 0, 0, 0, 0); /* 1 is still away, 2 and 3 went */
	CHECK_EQ(rates_compute(&b, &c, &r), 0);
	CHECK_EQ(r.offline.len, 3);
	AUTO_TICK struct tick d = at(4);
	CPU(&d, 0, 0, 0, 70, 70, 0, 0, 0, 0, 0, 0);
	CPU(&d, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0);
	CHECK_EQ(rates_compute(&c, &d, &r), 0);
	CHECK_EQ(r.offline.len, 2);
	CHECK(r.offline.items[0] != 1 && r.offline.items[1] != 1);
	CHECK_EQ(rates_compute(&d, &a, &r), -ENODATA); /* another boot knows other cores */
	CHECK_EQ(r.offline.len, 0);
}

TEST(clocks)
{
	AUTO_TICK struct tick a = at(10);
	AUTO_TICK struct tick b = at(11);
	AUTO_RATES struct rates r = { 0 };

	CHECK_EQ(rates_compute(&a, &a, &r), -ENODATA);
	CHECK_EQ(rates_compute(&b, &a, &r), -ENODATA); /* another boot */
	b.boot_ns += 3600 * S;                         /* suspended for an hour */
	b.real_ns += 3600 * S;
	CHECK_EQ(rates_compute(&a, &b, &r), 0);
	CHECK_EQ(r.interval_ns, S);
	CHECK_EQ(r.suspended_ns, 3600 * S);
	CHECK_EQ(r.step_ns, 0);
	b = at(11);
	b.real_ns -= 86400 * S; /* set back by a day */
	CHECK_EQ(rates_compute(&a, &b, &r), 0);
	CHECK_EQ(r.interval_ns, S);
	CHECK_EQ(r.step_ns, -(int64_t)(86400 * S));
}

TEST(counters_per_second)
{
	AUTO_TICK struct tick a = at(10);
	AUTO_TICK struct tick b = at(12); /* one tick was missed */
	AUTO_RATES struct rates r = { 0 };
	struct rec_vmstat *v = tick_only_row(&a, REC_VMSTAT);

	*v = (struct rec_vmstat){ .have = (1 << 15) - 1, .pgscan_direct = 100, .oom_kill = 7 };
	v = tick_only_row(&b, REC_VMSTAT);
	*v = (struct rec_vmstat){ .have = (1 << 15) - 1, .pgscan_direct = 300, .oom_kill = 3 };
	for (unsigned i = 0; i < 2; i++) {
		struct rec_pressure *p = tick_add_row(i ? &b : &a, REC_PRESSURE);
		*p = (struct rec_pressure){ .have = 0x1ff,
					    .resource = PRESSURE_IO,
					    .some_total = i * 500000,
					    .full_total = i * 9000000 };
		struct rec_quota *q = tick_add_row(i ? &b : &a, REC_QUOTA);
		*q = (struct rec_quota){ .have = 0x3f,
					 .cgroup = "pod",
					 .periods = 10 + 20 * i,
					 .throttled = 5 * i,
					 .throttled_time = 1000 * i };
	}
	CHECK_EQ(rates_compute(&a, &b, &r), 0);
	CHECK_NEAR(r.direct_pages, 100.0, 1e-9);
	CHECK_EQ(r.oom_kills, 0); /* a reset is not minus four */
	CHECK_NEAR(r.pressure[PRESSURE_IO].some, 25.0, 1e-9);
	CHECK_NEAR(r.pressure[PRESSURE_IO].full, 100.0, 0);
	CHECK(!r.pressure[PRESSURE_CPU].some_known);
	CHECK_EQ(r.quotas.len, 1);
	CHECK_NEAR(r.quotas.items[0].throttled_percent, 25.0, 1e-9);
}

static uint64_t seed = 88172645463325252u;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	/* small steps, large steps and wrap-arounds alike */
	switch (seed % 4) {
	case 0:
		return seed >> 60;
	case 1:
		return seed >> 40;
	case 2:
		return UINT64_MAX - (seed >> 58);
	default:
		return 0;
	}
}

static void check_percent(const struct rate_cpu *c)
{
	const double *v = &c->usr;
	double sum = 0;

	for (unsigned i = 0; i < 10; i++) {
		CHECK(isfinite(v[i]) && v[i] >= 0 && v[i] <= 100.0 + 1e-9);
		sum += v[i];
	}
	CHECK_NEAR(sum, 100.0, 1e-6);
	CHECK(rate_cpu_busy(c) >= 0 && rate_cpu_busy(c) <= 100.0);
}

/* Whatever two readings say, no percentage leaves 0..100 and they add up to 100. */
TEST(no_pair_gives_absurd_numbers)
{
	AUTO_RATES struct rates r = { 0 };

	for (unsigned round = 0; round < 20000; round++) {
		AUTO_TICK struct tick a = { .real_ns = any(), .mono_ns = any(), .boot_ns = any() };
		AUTO_TICK struct tick b = { .real_ns = any(), .mono_ns = any(), .boot_ns = any() };
		for (unsigned cpu = 0; cpu < 3; cpu++) {
			uint64_t x[10], y[10];
			for (unsigned i = 0; i < 10; i++) {
				x[i] = any() >> 8;
				y[i] = round & 1 ? x[i] + (any() >> 50) : any() >> 8;
			}
			put_cpu(&a, cpu, x);
			put_cpu(&b, cpu ^ (any() & 1), y);
		}
		if (rates_compute(&a, &b, &r) < 0)
			continue;
		check_percent(&r.all);
		vec_foreach (&r.cpus, it)
			check_percent(it);
	}
}

static void feed(struct hot *h, uint64_t second, double busy_of_17, double others)
{
	struct rate_cpu cpus[96];
	struct rates r = { .from_ns = second * S, .to_ns = (second + 1) * S };

	for (unsigned i = 0; i < 96; i++) {
		double busy = i == 17 ? busy_of_17 : others;
		cpus[i] = (struct rate_cpu){ .cpu = i, .sys = busy, .idle = 100 - busy };
	}
	r.all = (struct rate_cpu){ .idle = 100 - others };
	r.cpus.items = cpus;
	r.cpus.len = 96;
	CHECK_EQ(hot_feed(h, &r), 0);
}

TEST(a_hot_core_under_a_cool_mean)
{
	AUTO_HOT struct hot h = { 0 };

	feed(&h, 1, 20, 20);
	feed(&h, 2, 99, 20);
	feed(&h, 3, 97, 20);
	feed(&h, 4, 20, 20);
	CHECK_EQ(h.done.len, 1);
	const struct hot_span *s = &h.done.items[0];
	CHECK_EQ(s->cpu, 17);
	CHECK_EQ(s->from_ns, 2 * S);
	CHECK_EQ(s->to_ns, 4 * S);
	CHECK_NEAR(s->busy, 98.0, 1e-9);
	feed(&h, 5, 100, 100); /* everything is busy: nothing hidden */
	feed(&h, 6, 100, 10);
	CHECK_EQ(hot_end(&h), 0);
	CHECK_EQ(h.done.len, 2);
}

TEST_MAIN

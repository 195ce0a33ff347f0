#include "timeline.h"

#include <math.h>

#include "check.h"
#include "rec_cgroups.h"
#include "rec_cpu.h"
#include "rec_vmstat.h"
#include "timefmt.h"

/* A tick in which core 0 has used busy jiffies of 100 a second since boot, all in the kernel. */
static void feed(struct timeline *tl, uint64_t second, uint64_t sys, uint64_t idle, size_t cpus)
{
	AUTO_TICK struct tick t = { .real_ns = second * NS_PER_S, .mono_ns = second * NS_PER_S };
	struct rec_cgroups *g;
	struct rec_vmstat *v;

	for (size_t i = 0; i < cpus; i++) {
		struct rec_cpu *c = tick_add_row(&t, REC_CPU);
		*c = (struct rec_cpu){ .have = 0x7ff, .cpu = i, .idle = 100 * second };
		if (i == 0) {
			c->sys = sys;
			c->idle = idle;
		}
	}
	g = tick_add_row(&t, REC_CGROUPS);
	*g = (struct rec_cgroups){ .have = REC_CGROUPS_TRACKED, .tracked = 60000 + second };
	v = tick_add_row(&t, REC_VMSTAT);
	*v = (struct rec_vmstat){ .have = 3, .pgscan_direct = 10 * second, .pgscan_kswapd = 7 };
	CHECK_EQ(timeline_feed(tl, &t), 0);
}

TEST(a_hot_second_survives_any_zoom)
{
	struct timeline tl = { 0 };
	double v[4];
	uint8_t b[4];

	for (uint64_t s = 1000; s < 1400; s++)
		feed(&tl, s, s >= 1200 ? 100 : 0, 100 * (s - 1000) - (s >= 1200 ? 100 : 0), 4);
	timeline_series_read(&tl, TIMELINE_HOTTEST, 1000, 100, 4, v);
	CHECK(v[0] == 0 && v[1] == 100 && v[2] == 0 && v[3] == 0);
	/* what the tick at 1200 counted was used in the second that ended there */
	timeline_series_read(&tl, TIMELINE_HOST_BUSY, 1199, 1, 1, v);
	CHECK(v[0] == 25);
	timeline_core_read(&tl, TIMELINE_SYS, 0, 1198, 1, 3, b);
	CHECK_EQ(b[0], 0);
	CHECK_EQ(b[1], 100);
	CHECK_EQ(b[2], 0);
	timeline_series_read(&tl, TIMELINE_TRACKED, 1000, 400, 1, v);
	CHECK(v[0] == 61399);
	timeline_series_read(&tl, TIMELINE_SCAN_DIRECT, 1100, 1, 1, v);
	CHECK(v[0] == 10);
	timeline_free(&tl);
}

TEST(unknown_is_not_zero)
{
	struct timeline tl = { 0 };
	double v[3];
	uint8_t b[3];

	feed(&tl, 1000, 0, 0, 1);
	timeline_series_read(&tl, TIMELINE_HOTTEST, 1000, 1, 1, v); /* one reading has no rate */
	CHECK(isnan(v[0]));
	feed(&tl, 1001, 50, 50, 1);
	feed(&tl, 1003, 100, 200, 2); /* a gap, and a core that came up */
	timeline_series_read(&tl, TIMELINE_TRACKED, 1001, 1, 3, v);
	CHECK(!isnan(v[0]) && isnan(v[1]) && !isnan(v[2]));
	timeline_core_read(&tl, TIMELINE_BUSY, 0, 1000, 1, 3, b);
	CHECK_EQ(b[0], 50);
	CHECK_EQ(b[1], TIMELINE_UNKNOWN);
	CHECK_EQ(b[2], 25);
	timeline_core_read(&tl, TIMELINE_BUSY, 1, 1001, 1, 3, b);
	CHECK_EQ(b[0], TIMELINE_UNKNOWN);
	timeline_series_read(&tl, TIMELINE_LIVE, 1001, 1, 3, v);
	CHECK(isnan(v[0]));
	timeline_core_read(&tl, TIMELINE_BUSY, 9, 0, 1000000, 3,
			   b); /* no such core, no such time */
	CHECK_EQ(b[2], TIMELINE_UNKNOWN);
	timeline_free(&tl);
}

/* A line of /proc/stat that cannot be read: neither idle nor busy. */
TEST(a_core_without_times_is_unknown)
{
	struct timeline tl = { 0 };
	uint8_t b;

	for (uint64_t s = 1000; s < 1003; s++) {
		AUTO_TICK struct tick t = { .real_ns = s * NS_PER_S, .mono_ns = s * NS_PER_S };
		*(struct rec_cpu *)tick_add_row(&t, REC_CPU) =
			(struct rec_cpu){ .have = 3, .usr = 100 * (s - 999) };
		CHECK_EQ(timeline_feed(&tl, &t), 0);
	}
	timeline_core_read(&tl, TIMELINE_BUSY, 0, 1000, 3, 1, &b);
	CHECK_EQ(b, TIMELINE_UNKNOWN);
	timeline_free(&tl);
}

TEST(stays_bounded_and_jumps_far)
{
	struct timeline tl = { 0 };

	feed(&tl, 1000, 0, 0, 1);
	feed(&tl, UINT64_C(4000000000), 0, 0, 1);
	CHECK_EQ(tl.seconds, 1);
	feed(&tl, UINT64_C(4000000000) + 3000000, 0, 0, 1); /* more seconds than fit */
	CHECK(tl.seconds * (sizeof(struct timeline_second) + TIMELINE_MODES) <= TIMELINE_MAX_BYTES);
	timeline_free(&tl);
}

TEST_MAIN

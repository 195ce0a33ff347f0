#include "totals.h"

#include <errno.h>
#include <stdio.h>

#include "check.h"
#include "rec_cpu.h"
#include "rec_netdev.h"
#include "timefmt.h"

/* Core 0 spends all of its time in the kernel from second 10 to 14, core 1 nothing ever. */
static void feed(struct totals *t, uint64_t s)
{
	AUTO_TICK struct tick tick = { .real_ns = s * NS_PER_S, .mono_ns = s * NS_PER_S };
	uint64_t busy = s <= 10 ? 0 : s >= 15 ? 5 : s - 10;
	struct rec_cpu *c = tick_add_row(&tick, REC_CPU);
	struct rec_netdev *n = tick_add_row(&tick, REC_NETDEV);

	*c = (struct rec_cpu){ .have = 0x7ff, .sys = 100 * busy, .idle = 100 * (s - busy) };
	c = tick_add_row(&tick, REC_CPU);
	*c = (struct rec_cpu){ .have = 0x7ff, .cpu = 1, .idle = 100 * s };
	*n = (struct rec_netdev){ .have = REC_NETDEV_IFACE, .iface = "eth0" };
	totals_feed_tick(t, &tick);
}

TEST(saturated_seconds_add_up_and_a_gap_counts_nothing)
{
	struct totals t = { 0 };

	for (uint64_t s = 1; s <= 20; s++)
		feed(&t, s);
	CHECK_EQ(t.cores[0].saturated_ns[TOTALS_SYSTEM], 5 * NS_PER_S);
	CHECK_EQ(t.cores[0].saturated_ns[TOTALS_USER], 0);
	CHECK_EQ(t.cores[1].saturated_ns[TOTALS_SYSTEM], 0);
	feed(&t, 200);
	CHECK_EQ(t.cores[0].saturated_ns[TOTALS_SYSTEM], 5 * NS_PER_S);
	totals_free(&t);
}

TEST(a_nic_has_zeros_before_its_first_reset)
{
	struct totals t = { 0 };
	struct rec_event_field fields[] = { { "iface", "eth0" }, { "cause", "missing-interrupt" } };
	struct rec_event reset = {
		.id = "net-driver-reset", .count = 1, .text = "", .fields = fields, .n_fields = 2
	};

	feed(&t, 1);
	CHECK_EQ(t.n_nics, 1);
	CHECK_EQ(t.nics[0].resets[3], 0);
	totals_feed_event(&t, &reset);
	CHECK_EQ(t.nics[0].resets[3], 1);
	fields[1].value = "a cause of next year";
	totals_feed_event(&t, &reset);
	CHECK_EQ(t.nics[0].resets[TOTALS_REASONS - 1], 1);
	totals_free(&t);
}

TEST(a_thousand_units_stay_bounded)
{
	struct totals t = { 0 };
	char name[32];
	struct rec_event_field field = { "unit", name };
	struct rec_event e = {
		.id = "unit-restart", .count = 1, .text = "", .fields = &field, .n_fields = 1
	};
	uint64_t sum = 0;

	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "u%d.service", i);
		totals_feed_event(&t, &e);
	}
	CHECK_EQ(t.n_units, TOTALS_MOST_UNITS);
	CHECK_STR(t.units[TOTALS_MOST_UNITS - 1].unit, "other");
	for (size_t i = 0; i < t.n_units; i++)
		sum += t.units[i].restarts;
	CHECK_EQ(sum, 1000);
	totals_free(&t);
}

TEST(a_snapshot_comes_back_as_it_was)
{
	struct totals t = { 0 }, back = { 0 };
	AUTO_BUF struct buf a = { 0 }, b = { 0 };

	for (uint64_t s = 1; s <= 13; s++)
		feed(&t, s);
	t.kmsg_gaps = 3;
	totals_encode(&t, &a);
	CHECK_EQ(totals_decode(&back, a.data, a.len), 0);
	totals_encode(&back, &b);
	CHECK_EQ(a.len, b.len);
	assert_memory_equal(a.data, b.data, a.len);
	CHECK_EQ(back.kmsg_gaps, 3);
	for (size_t cut = 0; cut < a.len; cut++)
		CHECK_EQ(totals_decode(&t, a.data, cut), -EBADMSG);
	totals_free(&t);
	totals_free(&back);
}

TEST_MAIN

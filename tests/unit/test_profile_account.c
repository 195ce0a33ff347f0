#include "check.h"
#include "profile_account.h"
#include "profile_cores.h"
#include "profile_queue.h"
#include "rec_cpu.h"

#define S UINT64_C(1000000000)

TEST(expected_and_received_per_second)
{
	struct profile_account a = { 0 };
	struct profile_rows rows = { 0 };

	/* from the middle of second 10 to the middle of second 12, half idle */
	profile_account_span(&a, 3, 10 * S + S / 2, 12 * S + S / 2, 100, 0.5);
	for (unsigned i = 0; i < 40; i++)
		profile_account_sample(&a, 11 * S + i * 1000, 3, i % 2);
	profile_account_lost(&a, 11 * S, 3, 5);
	CHECK(profile_account_first(&a) == 10);
	profile_account_take(&a, 10, &rows);
	CHECK_EQ(rows.list.items[0].expected, 50);
	CHECK_EQ(rows.list.items[0].idle, 25);
	rows.list.len = 0;
	profile_account_take(&a, 11, &rows);
	CHECK_EQ(rows.list.len, 1);
	CHECK(rows.list.items[0].expected == 100 && rows.list.items[0].received == 40 &&
	      rows.list.items[0].received_idle == 20 && rows.list.items[0].lost == 5);
	CHECK(profile_account_first(&a) == 12);
	rows.list.len = 0;
	profile_account_take(&a, 12, &rows);
	CHECK(profile_account_first(&a) == UINT64_MAX);
	vec_free(&rows.list);
	profile_account_free(&a);
}

static void stat_row(struct tick *t, uint64_t cpu, uint64_t sys, uint64_t idle, uint64_t steal)
{
	struct rec_cpu *row = tick_add_row(t, REC_CPU);
	row->cpu = cpu;
	row->sys = sys;
	row->idle = idle;
	row->steal = steal;
}

TEST(a_core_by_proc_stat)
{
	struct profile_cores cores = { 0 };
	struct profile_core *core = profile_cores_of(&cores, 3);
	AUTO_TICK struct tick t = { 0 };

	CHECK(core && profile_cores_of(&cores, 3) == core);
	CHECK(!profile_core_use(core, &t).offline); /* nothing could be read */
	stat_row(&t, 3, 1000, 1000, 0);
	CHECK(profile_core_use(core, &t).idle_share < 0); /* no second reading yet */
	tick_clear(&t);
	stat_row(&t, 3, 1060, 1020, 20);
	struct profile_core_use use = profile_core_use(core, &t);
	CHECK_NEAR(use.idle_share, 0.2, 1e-9);
	CHECK_NEAR(use.ran_s, 0.6, 1e-9); /* what was stolen gives no samples */
	/* it goes, and comes back with counters that grew meanwhile */
	tick_clear(&t);
	stat_row(&t, 0, 0, 0, 0);
	use = profile_core_use(core, &t);
	CHECK(use.offline && use.idle_share < 0);
	tick_clear(&t);
	stat_row(&t, 3, 1060, 9000, 20);
	use = profile_core_use(core, &t);
	CHECK(!use.offline && use.idle_share < 0 && use.ran_s == 0);
	profile_cores_free(&cores);
}

TEST(when_an_event_may_be_dead)
{
	struct profile_core_use busy = { .ran_s = 1.0 }, half = { .ran_s = 0.6 };
	struct profile_core_use still = { .ran_s = 0 }, little = { .ran_s = 0.09 };

	CHECK(profile_core_is_doubtful(&busy, 0, 97));
	CHECK(profile_core_is_doubtful(&half, 26, 97)); /* went in the midst of it */
	CHECK(!profile_core_is_doubtful(&busy, 90, 97));
	CHECK(!profile_core_is_doubtful(&half, 58, 97)); /* then its interrupts were off */
	CHECK(!profile_core_is_doubtful(&still, 0, 97));
	CHECK(!profile_core_is_doubtful(&little, 0, 97));
}

TEST(queue_is_first_in_first_out)
{
	struct profile_queue q = { 0 };

	CHECK(!profile_queue_first(&q));
	for (uint32_t i = 0; i < 20000; i++) {
		struct profile_queued *s = profile_queue_add(&q, i % 100);
		CHECK(s != NULL);
		s->pid = i;
		for (uint32_t k = 0; k < s->n; k++)
			s->chain[k] = (struct symbolizer_place){ k, i };
		if (i % 3 == 0)
			profile_queue_drop(&q);
	}
	for (uint32_t i = 6667; i < 20000; i++) {
		const struct profile_queued *s = profile_queue_first(&q);
		CHECK(s && s->pid == i && s->n == i % 100);
		CHECK(s->n == 0 || s->chain[s->n - 1].file == i);
		profile_queue_drop(&q);
	}
	CHECK(!profile_queue_first(&q));
	profile_queue_free(&q);
}

TEST(queue_is_bounded)
{
	struct profile_queue q = { 0 };
	size_t n = 0;

	while (n < 100000 && profile_queue_add(&q, 1000))
		n++;
	CHECK(n > 1000 && n < 100000);
	profile_queue_free(&q);
}

TEST_MAIN

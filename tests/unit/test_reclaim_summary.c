#include "reclaim_summary.h"

#include <string.h>

#include "check.h"

/* As the kernel program counts: the same arithmetic, written down again. */
static unsigned bucket_of(uint64_t ns)
{
	unsigned i = 0;

	while (i + 1 < RECLAIM_HIST && reclaim_hist_ns(i + 1) <= ns)
		i++;
	return i;
}

static void pass(struct reclaim_summary *s, size_t row, int pid, const char *comm, uint64_t ns)
{
	struct reclaim_row *r = &s->rows.items[row];

	r->passes++;
	r->total_ns += ns;
	r->bytes += 128 << 10;
	r->max_ns = r->max_ns > ns ? r->max_ns : ns;
	r->hist[bucket_of(ns)]++;
	for (size_t i = 0; i <= s->payers.len; i++) {
		if (i == s->payers.len) {
			struct reclaim_payer_row p = { .row = row, .pid = pid };
			strcpy(p.comm, comm);
			p.cgroup = "/a.slice/a.service";
			vec_push(&s->payers, p);
		}
		struct reclaim_payer_row *p = &s->payers.items[i];
		if (p->row != row || p->pid != pid)
			continue;
		p->passes++;
		p->total_ns += ns;
		p->max_ns = p->max_ns > ns ? p->max_ns : ns;
		return;
	}
}

static void two_rows(struct reclaim_summary *s)
{
	vec_push(&s->rows, (struct reclaim_row){ .kind = RECLAIM_KIND_DIRECT });
	vec_push(&s->rows, (struct reclaim_row){
				   .kind = RECLAIM_KIND_LIMIT, .cgroup = 77, .path = "/a.slice" });
}

TEST(percentiles_are_never_below_the_truth)
{
	AUTO_RECLAIM_SUMMARY struct reclaim_summary s = { 0 };

	two_rows(&s);
	for (unsigned i = 1; i <= 1000; i++)
		pass(&s, 1, 5, "reader", i * 1000);
	const struct reclaim_row *r = &s.rows.items[1];
	uint64_t p50 = reclaim_row_percentile(r, 0.50), p99 = reclaim_row_percentile(r, 0.99);
	CHECK(p50 >= 500000 && p50 < 500000 * 113 / 100);
	CHECK(p99 >= 990000 && p99 <= 1000000); /* not above the longest */
	CHECK_EQ(reclaim_row_percentile(r, 1), 1000000);
	struct reclaim_row one = { .passes = 1, .max_ns = 3 };
	one.hist[0] = 1;
	CHECK_EQ(reclaim_row_percentile(&one, 0.5), 3);
	struct reclaim_row endless = { .passes = 1, .max_ns = UINT64_C(1) << 40 };
	endless.hist[RECLAIM_HIST - 1] = 1;
	CHECK_EQ(reclaim_row_percentile(&endless, 0.99), UINT64_C(1) << 40);
}

TEST(buckets_rise_without_gaps)
{
	CHECK_EQ(reclaim_hist_ns(0), 0);
	CHECK_EQ(reclaim_hist_ns(8), 1024);
	for (unsigned i = 1; i + 1 < RECLAIM_HIST; i++) {
		CHECK(reclaim_hist_ns(i + 1) > reclaim_hist_ns(i));
		CHECK(reclaim_hist_ns(i + 1) * 8 <= reclaim_hist_ns(i) * 9);
	}
}

TEST(the_path_is_put_together_from_names)
{
	AUTO_ARENA struct arena a = { 0 };

	CHECK_STR(reclaim_path(&a, "c\0b\0a\0", 7), "/a/b/c");
	CHECK_STR(reclaim_path(&a, "x\0", 3), "/x");
	CHECK_STR(reclaim_path(&a, "", 1), "/");
	CHECK(!reclaim_path(&a, "c\0b", 4)); /* cut before the root */
	CHECK(!reclaim_path(&a, "", 0));
	CHECK(!reclaim_path(&a, "c", 1));
}

TEST(zombies_are_counted_below_each)
{
	AUTO_RECLAIM_SUMMARY struct reclaim_summary s = { 0 };
	static const char *const paths[] = { "/a.slice/x/y", "/a.slice/z", "/a.slicer/z",
					     "/b/a.slice/c", "/a.slice" };

	two_rows(&s);
	vec_push(&s.rows, (struct reclaim_row){ .kind = RECLAIM_KIND_ASKED });
	reclaim_summary_count(&s, NULL);
	for (size_t i = 0; i < 5; i++)
		reclaim_summary_zombie(&s, paths[i], strlen(paths[i]));
	CHECK_EQ(s.rows.items[0].zombies, 5); /* the host */
	CHECK_EQ(s.rows.items[1].zombies, 2);
	CHECK(!s.rows.items[2].zombies_known);
	reclaim_summary_count(&s, "/b"); /* a census of /b tells nothing about the others */
	CHECK(!s.rows.items[0].zombies_known && !s.rows.items[1].zombies_known);
	reclaim_summary_count(&s, "/a.slice");
	CHECK(!s.rows.items[0].zombies_known && s.rows.items[1].zombies_known);
	reclaim_summary_count(&s, "/");
	CHECK(s.rows.items[0].zombies_known && s.rows.items[1].zombies_known);
}

TEST(a_stretch_is_what_came_since)
{
	AUTO_RECLAIM_SUMMARY struct reclaim_summary now = { .lost = 5 }, before = { .lost = 3 };

	two_rows(&now);
	pass(&now, 0, 9, "old", 1000000);
	pass(&now, 1, 5, "reader", 50000000);
	CHECK(reclaim_summary_copy(&before, &now));
	before.lost = 3;
	pass(&now, 1, 5, "reader", 2000000);
	pass(&now, 1, 6, "other", 3000000);
	reclaim_summary_subtract(&now, &before);
	CHECK_EQ(now.lost, 2);
	CHECK_EQ(now.rows.len, 1); /* the host did not reclaim in it */
	CHECK_EQ(now.rows.items[0].cgroup, 77);
	CHECK_EQ(now.rows.items[0].passes, 2);
	CHECK_EQ(now.rows.items[0].total_ns, 5000000);
	CHECK(now.rows.items[0].max_ns >= 3000000 && now.rows.items[0].max_ns < 3400000);
	CHECK_EQ(now.payers.len, 2);
	CHECK_EQ(now.payers.items[0].row, 0);
	CHECK_EQ(now.payers.items[0].passes, 1);
	CHECK_EQ(now.payers.items[0].max_ns, 0); /* 50 ms were before */
	CHECK_EQ(now.payers.items[1].max_ns, 3000000);
}

TEST(sum_of_stretches_and_back_from_bytes)
{
	AUTO_RECLAIM_SUMMARY struct reclaim_summary a = { .from_ns = 10, .to_ns = 20 },
						    b = { .from_ns = 20, .to_ns = 30 }, sum = { 0 },
						    back = { 0 };
	AUTO_BUF struct buf bytes = { 0 };

	two_rows(&a);
	two_rows(&b);
	pass(&a, 0, 9, "x", 1000);
	pass(&a, 1, 5, "reader", 2000);
	pass(&b, 1, 5, "reader", 9000);
	b.rows.items[1].zombies_known = true;
	b.rows.items[1].zombies = 4000;
	CHECK(reclaim_summary_merge(&sum, &a) && reclaim_summary_merge(&sum, &b));
	reclaim_summary_sort(&sum);
	reclaim_summary_encode(&bytes, &sum);
	CHECK_EQ(reclaim_summary_decode(bytes.data, bytes.len, &back), 0);
	CHECK_EQ(back.from_ns, 10);
	CHECK_EQ(back.to_ns, 30);
	CHECK_EQ(back.rows.len, 2);
	CHECK_STR(back.rows.items[0].path, "/a.slice"); /* 11 us against 1 */
	CHECK_EQ(back.rows.items[0].passes, 2);
	CHECK_EQ(back.rows.items[0].zombies, 4000);
	CHECK(!back.rows.items[1].zombies_known);
	CHECK_EQ(back.payers.len, 2);
	CHECK_STR(back.payers.items[0].comm, "reader");
	CHECK_EQ(back.payers.items[0].passes, 2);
	CHECK_STR(back.payers.items[0].cgroup, "/a.slice/a.service");
	for (size_t cut = 0; cut < bytes.len; cut++) {
		AUTO_RECLAIM_SUMMARY struct reclaim_summary torn = { 0 };
		CHECK(reclaim_summary_decode(bytes.data, cut, &torn) < 0);
	}
}

TEST_MAIN

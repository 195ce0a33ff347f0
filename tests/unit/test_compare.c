#include <stdlib.h>

#include "check.h"
#include "compare.h"

enum { N = 60 };

static void noise(double *values, double level, double width, unsigned seed)
{
	for (size_t i = 0; i < N; i++)
		values[i] = level + width * ((double)rand_r(&seed) / RAND_MAX - 0.5);
}

static enum outcome outcome_of(double before, double after, double width, unsigned seed)
{
	double b[N], a[N];
	struct metric m = { .sick_from = 10,
			    .least_change = 1,
			    .before = b,
			    .after = a,
			    .n_before = N,
			    .n_after = N };

	noise(b, before, width, seed);
	noise(a, after, width, seed + 1);
	compare_metric(&m);
	return m.outcome;
}

TEST(outcomes)
{
	CHECK_EQ(outcome_of(50, 1, 2, 1), OUTCOME_HEALED);
	CHECK_EQ(outcome_of(50, 30, 2, 1), OUTCOME_BETTER);
	CHECK_EQ(outcome_of(1, 50, 2, 1), OUTCOME_WORSE);
	CHECK_EQ(outcome_of(5, 5, 0, 1), OUTCOME_UNCHANGED);
}

/* The same noise on both sides: at most a few in a thousand are called a change, and none beyond
 * least_change. */
TEST(noise_is_no_change)
{
	unsigned called = 0;

	for (unsigned seed = 1; seed <= 1000; seed++)
		called += outcome_of(20, 20, 8, seed * 7) != OUTCOME_UNCHANGED;
	CHECK(called <= 15);
}

TEST(rare_events_count_by_their_mean)
{
	double before[N] = { 0 }, after[N] = { 0 };
	struct metric m = { .sick_from = 0.01,
			    .least_change = 0.01,
			    .before = before,
			    .after = after,
			    .n_before = N,
			    .n_after = N };

	for (size_t i = 0; i < N; i += 3)
		before[i] = 1;
	compare_metric(&m);
	CHECK_EQ(m.outcome, OUTCOME_HEALED);
}

TEST(too_little_is_unknown_and_worse_wins)
{
	double few[2] = { 1, 2 };
	struct metric m[3] = { { .before = few, .after = few, .n_before = 2, .n_after = 2 },
			       { .outcome = OUTCOME_HEALED },
			       { .outcome = OUTCOME_WORSE } };

	compare_metric(&m[0]);
	CHECK_EQ(m[0].outcome, OUTCOME_UNKNOWN);
	CHECK_EQ(compare_all(m, 3), OUTCOME_WORSE);
	CHECK_EQ(compare_all(m, 2), OUTCOME_HEALED);
	CHECK_EQ(compare_all(m, 1), OUTCOME_UNKNOWN);
}

TEST_MAIN

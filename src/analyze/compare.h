/* Did it help? Before against after, metric by metric, by medians and a rank test that noise does
 * not fool. Pure. */
#pragma once

#include <stddef.h>

enum outcome {
	OUTCOME_WORSE,
	OUTCOME_UNCHANGED,
	OUTCOME_BETTER,
	OUTCOME_HEALED,  /* was sick before, is fine now */
	OUTCOME_UNKNOWN, /* too few values on one side */
};

struct metric {
	const char *name, *unit;
	double sick_from;    /* at or above, the value is an illness; thresholds_default is where it
				comes from */
	double least_change; /* smaller differences of medians are no difference */
	const double *before, *after; /* one value a second (or per event bin) */
	size_t n_before, n_after;
	/* Results */
	double median_before, median_after;
	double mean_before, mean_after;
	double p; /* two-sided p of the Mann-Whitney test; 1 when it could not be made */
	enum outcome outcome;
};

/* Fill the results of one metric. */
void compare_metric(struct metric *m);
/* healed: something was healed and nothing is worse; worse: anything got worse; better; unchanged;
 * unknown: nothing known. */
enum outcome compare_all(const struct metric *metrics, size_t n);
const char *outcome_name(enum outcome outcome);

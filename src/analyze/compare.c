#include "compare.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"

/* Fewer values than this say nothing; a chance of 1 in 100 is not called a change. */
enum { COMPARE_LEAST_VALUES = 5 };
static const double compare_p_limit = 0.01;

const char *outcome_name(enum outcome outcome)
{
	static const char *const names[] = {
		[OUTCOME_WORSE] = "worse",     [OUTCOME_UNCHANGED] = "unchanged",
		[OUTCOME_BETTER] = "better",   [OUTCOME_HEALED] = "healed",
		[OUTCOME_UNKNOWN] = "unknown",
	};
	return outcome < ARRAY_LEN(names) ? names[outcome] : "unknown";
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static double median_of(const double *values, size_t n, double *scratch)
{
	memcpy(scratch, values, n * sizeof(*values));
	qsort(scratch, n, sizeof(*scratch), compare_doubles);
	return n % 2 ? scratch[n / 2] : (scratch[n / 2 - 1] + scratch[n / 2]) / 2;
}

struct ranked {
	double value;
	bool after;
};

static int compare_ranked(const void *a, const void *b)
{
	return compare_doubles(&((const struct ranked *)a)->value,
			       &((const struct ranked *)b)->value);
}

/* Mann-Whitney U with the normal approximation and tie correction. */
static double rank_test(const struct metric *m)
{
	size_t n = m->n_before + m->n_after;
	AUTO_FREE struct ranked *all = calloc(n, sizeof(*all));
	double rank_sum = 0, ties = 0;

	if (!all)
		return 1;
	for (size_t i = 0; i < m->n_before; i++)
		all[i] = (struct ranked){ m->before[i], false };
	for (size_t i = 0; i < m->n_after; i++)
		all[m->n_before + i] = (struct ranked){ m->after[i], true };
	qsort(all, n, sizeof(*all), compare_ranked);
	for (size_t i = 0; i < n;) {
		size_t k = i;
		while (k < n && all[k].value == all[i].value)
			k++;
		double rank = (double)(i + k + 1) / 2, tied = (double)(k - i);
		ties += tied * tied * tied - tied;
		for (; i < k; i++)
			rank_sum += all[i].after ? rank : 0;
	}
	double a = (double)m->n_after, b = (double)m->n_before, total = (double)n;
	double u = rank_sum - a * (a + 1) / 2;
	double variance = a * b / 12 * (total + 1 - ties / (total * (total - 1)));
	if (variance <= 0)
		return 1;
	double z = (fabs(u - a * b / 2) - 0.5) / sqrt(variance);
	return z <= 0 ? 1 : erfc(z / sqrt(2));
}

static double mean_of(const double *values, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += values[i];
	return sum / (double)n;
}

void compare_metric(struct metric *m)
{
	size_t most = MAX_OF(m->n_before, m->n_after);
	AUTO_FREE double *scratch = calloc(most + 1, sizeof(*scratch));

	m->outcome = OUTCOME_UNKNOWN;
	m->p = 1;
	if (!scratch || m->n_before < COMPARE_LEAST_VALUES || m->n_after < COMPARE_LEAST_VALUES)
		return;
	m->median_before = median_of(m->before, m->n_before, scratch);
	m->median_after = median_of(m->after, m->n_after, scratch);
	m->p = rank_test(m);
	m->mean_before = mean_of(m->before, m->n_before);
	m->mean_after = mean_of(m->after, m->n_after);
	/* Rare events (resets, saturated seconds) have median 0 on both sides: then the means
	 * decide. */
	bool rare = m->median_before == 0 && m->median_after == 0;
	double before = rare ? m->mean_before : m->median_before;
	double after = rare ? m->mean_after : m->median_after;
	if (m->p > compare_p_limit || fabs(after - before) < m->least_change)
		m->outcome = OUTCOME_UNCHANGED;
	else if (after > before)
		m->outcome = OUTCOME_WORSE;
	else
		m->outcome = before >= m->sick_from && after < m->sick_from ? OUTCOME_HEALED
									    : OUTCOME_BETTER;
}

enum outcome compare_all(const struct metric *metrics, size_t n)
{
	unsigned count[OUTCOME_UNKNOWN + 1] = { 0 };
	bool still_sick = false;

	for (size_t i = 0; i < n; i++) {
		count[metrics[i].outcome]++;
		still_sick |= metrics[i].outcome == OUTCOME_UNCHANGED &&
			      metrics[i].mean_after >= metrics[i].sick_from;
	}
	if (count[OUTCOME_WORSE])
		return OUTCOME_WORSE;
	if (count[OUTCOME_HEALED] && !still_sick)
		return OUTCOME_HEALED;
	if (count[OUTCOME_HEALED] || count[OUTCOME_BETTER])
		return OUTCOME_BETTER;
	return count[OUTCOME_UNCHANGED] ? OUTCOME_UNCHANGED : OUTCOME_UNKNOWN;
}

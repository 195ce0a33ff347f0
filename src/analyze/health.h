/* `zscope check`: a table of questions with thresholds, asked of one pair of ticks. Pure.
 *
 * To add a line: a row in checks[] of health.c. Its measure() reads the input and says the number
 * and a detail; -ENODATA = cannot tell. What needs other sources than ticks (crash loops, the
 * zombie census, driver resets) is handed in as a health_fact and the row names it by `fact`: such
 * a row is left out when nobody handed the fact in. */
#pragma once

#include "rates.h"
#include "tick.h"
#include "vec.h"

enum health_level {
	HEALTH_GREEN,
	HEALTH_YELLOW,
	HEALTH_RED,
	HEALTH_UNKNOWN,
};

struct health_fact {
	const char *id; /* the row's `fact` */
	double value;
	const char *detail; /* for people, may be "" */
};

struct health_input {
	const struct tick *tick;   /* the later one */
	const struct rates *rates; /* NULL = no pair */
	const struct health_fact *facts;
	size_t n_facts;
};

enum { HEALTH_DETAIL_MAX = 240 };

struct health_check {
	const char *id;
	const char *title; /* what is measured */
	const char *unit;
	bool below;         /* the smaller the worse */
	double yellow, red; /* at or above (below: at or under); red INFINITY = never */
	unsigned decimals;
	const char *next;   /* what to run */
	const char *source; /* file or field that shows it */
	const char *fact;
	int (*measure)(const struct health_input *in, double *ret, char detail[HEALTH_DETAIL_MAX]);
};

struct health_line {
	const struct health_check *check;
	enum health_level level;
	double value;                   /* not HEALTH_UNKNOWN */
	char detail[HEALTH_DETAIL_MAX]; /* hostile bytes */
};

struct health_result {
	VEC(struct health_line) lines; /* in the table's order */
	enum health_level level;       /* the worst; HEALTH_UNKNOWN = most could not be told */
};

int health_judge(const struct health_input *in, struct health_result *ret);
void health_result_free(struct health_result *r);
const struct health_check *health_table(size_t *ret_len);
const char *health_level_name(enum health_level level); /* green, yellow, red, unknown */

#define AUTO_HEALTH_RESULT __attribute__((cleanup(health_result_free)))

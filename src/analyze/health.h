/* `zscope check`: a table of questions with thresholds, asked of one pair of ticks. Pure.
 *
 * To add a line: a row in checks[] of health.c. Its measure() fills the value and a detail;
 * -ENODATA = cannot tell, -EOPNOTSUPP = the question does not apply to this host. What needs other
 * sources than ticks (crash loops, driver resets) is handed in as a health_fact and the row names
 * it by `fact`; a fact that nobody handed in is not known.
 *
 * The verdict: the worst of what is known, if that is yellow or red. Without one the node is
 * healthy only if every line is known. It could not be told when an essential line is unknown;
 * when only others are, nothing is wrong in what could be read, and the view says so. */
#pragma once

#include "rates.h"
#include "tick.h"
#include "unknowns.h"
#include "vec.h"

enum health_level {
	HEALTH_GREEN,
	HEALTH_YELLOW,
	HEALTH_RED,
	HEALTH_UNKNOWN,
	HEALTH_ABSENT, /* does not apply here: there is nothing that could be sick */
};

struct health_fact {
	const char *id; /* the row's `fact` */
	double value;
	const char *detail; /* for people, may be "" */
	bool absent;        /* does not apply here; detail says why */
};

struct health_input {
	const struct tick *tick;   /* the later one */
	const struct rates *rates; /* NULL = no pair */
	const struct health_fact *facts;
	size_t n_facts;
	const char *zombie_owner; /* of most of them (hostile bytes); NULL = not looked for */
	uint64_t zombie_owner_count;
	const struct unknowns *unknown; /* why something could not be read; NULL = no reasons */
};

enum { HEALTH_DETAIL_MAX = 300, HEALTH_MOST_NUMBERS = 4 };

/* What the detail says in words, for machines. */
struct health_number {
	const char *key;
	double value;
	unsigned decimals;
};

struct health_line {
	const struct health_check *check;
	enum health_level level;
	double value;                   /* green, yellow, red only */
	char detail[HEALTH_DETAIL_MAX]; /* hostile bytes; unknown, absent: why */
	struct health_number numbers[HEALTH_MOST_NUMBERS];
	size_t n_numbers;
	char owner[128]; /* of most zombies, hostile bytes; "" = none known */
	bool explained;  /* unknown, and one of the input's unknowns says why */
	int cpu;         /* the core that it speaks of; -1 = none */
};

struct health_check {
	const char *id;
	const char *title; /* what is measured */
	const char *brief; /* the same for a pager, before the number */
	const char *unit;
	bool below;         /* the smaller the worse */
	double yellow, red; /* at or above (below: at or under); red INFINITY = never */
	unsigned decimals;
	const char *next;   /* what to run */
	const char *source; /* file or field that shows it */
	const char *fact;
	const char *reads; /* "a|b": the unknowns that explain why it is one */
	bool one_core;     /* it speaks of one core, which a pager must name */
	bool essential;    /* while it is unknown the node cannot be called healthy */
	int (*measure)(const struct health_input *in, struct health_line *ret);
};

struct health_result {
	VEC(struct health_line) lines;      /* in the table's order */
	VEC(const struct unknown *) others; /* unknowns that explain no line; the input's */
	enum health_level level; /* green, yellow, red; HEALTH_UNKNOWN = could not tell */
	unsigned counts[HEALTH_ABSENT + 1]; /* of lines; others count as unknown */
};

int health_judge(const struct health_input *in, struct health_result *ret);
void health_result_free(struct health_result *r);
const struct health_check *health_table(size_t *ret_len);
const char *health_level_name(enum health_level level); /* green ... unknown, absent */

#define AUTO_HEALTH_RESULT __attribute__((cleanup(health_result_free)))

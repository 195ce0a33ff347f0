/* The table of kernel log lines that mean something (patterns.tsv, plus rows of the user), and the
 * engine that tells which row a line matches: a scan for rare literals over everything, a regex
 * only on the few lines that hold one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "err.h"
#include "rec_event.h"

enum {
	PATTERN_MOST_FIELDS = 12,
	PATTERN_LINE_MAX = 65536, /* longer lines are looked at up to here */
};

/* What a line means inside its episode; the words of the column `role`. */
enum pattern_role {
	PATTERN_EVENT,    /* an event by itself; equal ones close together are counted */
	PATTERN_HEAD,     /* begins an episode of its event */
	PATTERN_ROW,      /* adds fields to the episode of its event */
	PATTERN_LATE,     /* NIC: a completion is overdue */
	PATTERN_WATCHDOG, /* NIC: the core's Tx watchdog fired */
	PATTERN_TIMEOUT,  /* NIC: the driver's part of that */
	PATTERN_CAUSE,    /* NIC: the driver states why it will reset */
	PATTERN_LOST,     /* NIC: too many lost completions */
	PATTERN_HANG,     /* NIC: the hardware stands */
	PATTERN_VERDICT,  /* NIC: what the driver suspects */
	PATTERN_START,    /* NIC: the reset begins */
	PATTERN_STAT,     /* NIC: one line of the statistics dump */
	PATTERN_DETAIL,   /* NIC: belongs to a reset, begins none */
	PATTERN_BODY,     /* NIC: inner line of a multi-line record */
	PATTERN_PHASE,    /* NIC: start, end or failure, as its field `phase` or `what` says */
	PATTERN_DONE,     /* NIC: the reset ended */
	PATTERN_FAILED,   /* NIC: the reset did not work */
	PATTERN_PROBE,    /* NIC: the driver was loaded; tells its version */
	PATTERN_PICK,     /* OOM: the candidate, not the victim */
	PATTERN_KILLED,   /* OOM: the victim */
	PATTERN_SCOPE,    /* OOM: the cgroup */
	PATTERN_HINT,     /* hung task: proof of a report whose head is lost */
	PATTERN_BANNER,   /* kernel release, hardware */
	PATTERN_TASK,     /* whose stack follows */
	PATTERN_LOCK,     /* a lock that is held */
	PATTERN_IGNORE,   /* known, says nothing of its own */
	PATTERN_ROLE_END,
};

struct pattern {
	const char *id;
	const char *event;
	enum pattern_role role;
	enum event_severity severity;
	const char *cause;   /* "" = none */
	const char *literal; /* "" = none: the regex sees every line */
	const char *regex;   /* POSIX extended */
	const char *fields[PATTERN_MOST_FIELDS];
	size_t n_fields;
	const char *versions, *meaning, *source, *example;
	unsigned line; /* in its file, from 1 */
	bool user;
};

struct pattern_set;

struct pattern_hit {
	const struct pattern *pattern;
	struct {
		const char *at; /* NULL = this group took no part */
		size_t len;
	} values[PATTERN_MOST_FIELDS];
};

/* The built-in table and, behind it, the rows of user_text (NULL = none). A row that does not parse
 * or compile is named: "FILE:LINE: id: what". */
int pattern_set_new(const char *user_text, const char *user_name, struct pattern_set **ret,
		    struct err *err);
void pattern_set_free(struct pattern_set *s);
size_t pattern_set_len(const struct pattern_set *s);
const struct pattern *pattern_set_row(const struct pattern_set *s, size_t i);

/* text: one message without any prefix. The first row that matches wins. */
bool pattern_match(struct pattern_set *s, const char *text, size_t len, struct pattern_hit *ret);
/* Where in many lines the next one that could match is: an offset inside that line, len = none. */
size_t pattern_next(const struct pattern_set *s, const char *bytes, size_t len, size_t from);
/* The value of a captured field; false when absent or empty. */
bool pattern_value(const struct pattern_hit *hit, const char *field, const char **ret,
		   size_t *ret_len);

/* Check a user's file row by row. Calls back for every problem and every remark; returns the number
 * of problems. */
size_t pattern_check(const char *text, void (*say)(void *arg, unsigned line, const char *what),
		     void *arg, size_t *ret_rows);
/* The longest run of bytes that every match of the regex contains; "" when there is none. Pure. */
void pattern_required(const char *regex, char *ret, size_t size);
/* Whether every match must contain the literal, as far as a look at the regex can tell. */
bool pattern_requires(const char *regex, const char *literal);

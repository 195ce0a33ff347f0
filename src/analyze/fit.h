/* Does a unit belong on this kind of host? Judged by the knowledge base: the shapes it lists and
 * its predicates, which are asked one by one. What cannot be told stays unknown; a unit that the
 * knowledge base does not know is unknown, never "no". Pure: the asking is the caller's. */
#pragma once

#include "agents.h"
#include "host_probe.h"

enum fit {
	FIT_UNKNOWN,
	FIT_YES,
	FIT_NO,
};

typedef enum probe (*fit_ask)(void *arg, const char *kind, const char *argument, char source[160]);

struct fit_result {
	enum fit fit;
	char why[400];
	char source[200];          /* what shows it */
	const struct agent *agent; /* the row that decided; NULL = the unit is not known */
};

struct fit_host {
	enum host_shape shape;
	bool image; /* not booted: files that are missing may still come */
	fit_ask ask;
	void *arg;
};

void fit_judge(const struct agents *agents, const char *unit, const struct fit_host *host,
	       struct fit_result *ret);
const char *fit_name(enum fit fit); /* "yes" "no" "unknown" */
/* The predicates of one row: NO as soon as one part is no. The deciding part goes to ret_why. */
enum probe fit_needs(const char *needs, const struct fit_host *host, char ret_why[300],
		     char ret_source[160]);

/* Does Restart= with its limits ever stop a unit that keeps failing? */
enum restart_forecast {
	RESTART_UNKNOWN,
	RESTART_NEVER,   /* it is not restarted */
	RESTART_STOPS,   /* the start limit can trip */
	RESTART_ENDLESS, /* RestartSec alone keeps it below the limit */
};
enum restart_forecast fit_restart(const struct rec_service *u, char ret_words[240]);

/* The answer of `zscope check` in every form. */
#pragma once

#include "envelope.h"
#include "health.h"
#include "json.h"
#include "terminal.h"
#include "unknowns.h"

struct view_check {
	const struct health_result *result;
	const struct unknowns *unknown;
	const struct envelope *envelope;
	uint64_t time_ns;
	bool captured; /* time_ns is when the host was captured */
	/* What makes the command to run next speak of the same host, quoted for a shell: "" or
	 * " --root X"; and of the same recording, for commands that read one. */
	const char *where, *store;
	bool no_events; /* there is no recording and no kernel ring: events cannot be shown */
};

/* Host, kernel and time; the verdict; the lines, worst first, with what to run next. */
void view_check_text(FILE *out, const struct terminal *term, const struct view_check *v);
/* verdict, status, lines, unknown; the caller opens and closes the object. */
void view_check_json(struct json *j, const struct view_check *v);
/* One line with performance data, as Nagios and its relatives read it. */
void view_check_nagios(struct buf *out, const struct health_result *r);
/* At most 80 bytes: node-problem-detector cuts there. What does not fit is counted. */
void view_check_npd(struct buf *out, const struct health_result *r);

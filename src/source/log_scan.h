/* A whole log against the pattern table: every line that matches (and a few behind some of them,
 * as context) is handed on with its time. Plain formats are scanned in blocks, so that lines which
 * hold no literal of the table cost nothing but the scan. */
#pragma once

#include "err.h"
#include "log_file.h"
#include "log_line.h"
#include "pattern.h"

enum log_scan_clock {
	LOG_CLOCK_NONE, /* the lines carry no time */
	LOG_CLOCK_BOOT, /* time since boot only */
	LOG_CLOCK_WALL,
};

struct log_scan_line {
	const struct log_line *line;
	const struct pattern_hit *hit; /* NULL = context */
	const char *raw;               /* the line as it stands in the file */
	size_t raw_len;
	enum log_scan_clock clock;
	uint64_t time_ns; /* by that clock; 0 without one */
	/* How much later than the kernel printed it the line was stamped, as far as the file tells:
	 * receivers lag, and kernel time is what orders lines. */
	uint64_t lag_ns;
};

struct log_scan {
	unsigned shapes;      /* of all lines looked at */
	uint64_t matched;     /* lines */
	uint64_t lost;        /* records missing by sequence number */
	uint64_t foreign;     /* lines looked at that another program wrote */
	uint64_t looked_at;   /* lines */
	char first_line[200]; /* for the message when nothing is recognized */
	bool has_first_line;
	/* private */
	uint64_t next_seq;
	bool have_seq;
	bool every_line;
	bool have_offset;
	int64_t offset_ns; /* least (wall - mono) so far */
	bool have_relative;
	uint64_t relative_ns;
	unsigned context_left;
	uint64_t now_ns;
	char scratch[PATTERN_LINE_MAX + 1];
};

void log_scan_init(struct log_scan *s, uint64_t now_ns);
/* each() is called for every matching line and its context, in file order. */
void log_scan_block(struct log_scan *s, struct pattern_set *patterns, const char *bytes, size_t len,
		    void (*each)(void *arg, const struct log_scan_line *line), void *arg);
/* The whole file. -EINVAL "could not recognize the format of FILE: first line ..." when no line has
 * a known prefix and none matches. */
int log_scan_file(struct log_scan *s, struct pattern_set *patterns, struct log_file *file,
		  void (*each)(void *arg, const struct log_scan_line *line), void *arg,
		  struct err *err);

/* One line of a kernel log file, whatever tool wrote it: raw kmsg, dmesg (plain, -T, -x, -e, iso),
 * journalctl -k (short, short-iso, short-monotonic, json), syslog. Prefixes may be stacked (syslog
 * around raw kmsg, syslog around dmesg) and may differ from line to line. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_shape {
	LOG_KMSG = 1,           /* "6,1234,5678,-;text" */
	LOG_DMESG = 2,          /* "[  123.456789] text" */
	LOG_DMESG_CTIME = 4,    /* "[Thu Dec  7 00:05:14 2017] text" */
	LOG_DMESG_RELATIVE = 8, /* "[Nov16 00:44] text", "[  +0.000012] text" */
	LOG_ISO = 16,    /* "2026-11-16T00:44:26,123456+00:00 text", also with host and program */
	LOG_SYSLOG = 32, /* "Jul 14 10:10:21 host kernel: text"; journalctl's short */
	LOG_JSON = 64,   /* journalctl -o json */
	LOG_TAG = 128,   /* "kernel: text", "kern.err: text", "<6>text" */
	/* Every line must be seen, not only those that match: sequence numbers, relative times,
	 * text that is escaped. */
	LOG_NEEDS_EVERY_LINE = LOG_KMSG | LOG_DMESG_RELATIVE | LOG_JSON,
};

struct log_line {
	unsigned shapes; /* prefixes found; 0 = bare text */
	bool other;      /* a line of another program than the kernel */
	bool have_facility, have_seq, have_mono, have_wall, have_delta;
	/* The facility is the kernel's or journald's own word, not text that a line could carry. */
	bool facility_proven;
	unsigned facility, level;
	uint64_t seq;
	uint64_t mono_ns; /* since boot */
	uint64_t wall_ns; /* of receipt for syslog and journal */
	uint64_t delta_ns;
	const char *text;
	size_t len;
	const char *device; /* "+pci:0000:00:05.0", NULL = unknown */
};

/* now_ns supplies the year that syslog leaves out. scratch: at least len + 1 bytes, holds strings
 * that had to be unescaped. Never fails: what has no prefix is bare text. */
void log_line_parse(const char *line, size_t len, uint64_t now_ns, char *scratch,
		    struct log_line *ret);
/* "dmesg", "syslog + raw kmsg" ... for people. */
const char *log_shape_name(unsigned shapes, char *ret, size_t size);

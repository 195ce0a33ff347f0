/* Everything that the commands read, copied into a tar: the bug-report format and the test fixture
 * format (captured.h tells the layout). No secrets: of command lines only the first word is kept,
 * unit files lose their environment and all but the first word of what they run, the kernel's log
 * loses the values of boot options, audit records and what userspace wrote into it. */
#pragma once

#include "buf.h"
#include "err.h"
#include "root.h"
#include "unknowns.h"

enum { CAPTURE_PARTS = 9 };
extern const char *const capture_parts[CAPTURE_PARTS]; /* "cores" ..., for people */

struct capture_stats {
	uint64_t files, dirs, bytes;
	unsigned parts; /* a bit for each of capture_parts that is in it */
};

/* Two readings, interval_ns apart, of a live host; of any other tree what it holds. -ENODATA: that
 * is nothing. */
int capture_collect(const struct root *root, uint64_t interval_ns, struct buf *ret_tar,
		    struct capture_stats *ret_stats, struct unknowns *unknowns, struct err *err);
/* Pure: what is left of a unit file, of the text of /dev/kmsg, of /proc/PID/cmdline (its length).
 */
void capture_redact_unit(const char *text, struct buf *out);
void capture_redact_kmsg(const char *text, struct buf *out);
size_t capture_program_len(const char *cmdline);

/* Everything that the commands read, copied into a tar: the bug-report format and the test fixture
 * format (captured.h tells the layout). No secrets: of command lines only argv[0] is kept, unit
 * files lose their environment and all but the first word of what they run. */
#pragma once

#include "buf.h"
#include "err.h"
#include "root.h"
#include "unknowns.h"

struct capture_stats {
	uint64_t files, dirs, bytes;
};

/* Two readings, interval_ns apart, of a live host; of any other tree what
 * it holds. */
int capture_collect(const struct root *root, uint64_t interval_ns, struct buf *ret_tar,
		    struct capture_stats *ret_stats, struct unknowns *unknowns, struct err *err);
/* Pure: what is left of a unit file. */
void capture_redact_unit(const char *text, struct buf *out);

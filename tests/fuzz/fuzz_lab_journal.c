#include "fuzz.h"
#include "lab_journal.h"

/* Whatever parses names only what a run can have made. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct lab_trace_line line;

	if (lab_journal_parse_line((const char *)bytes, len, &line) < 0)
		return 0;
	if (line.trace == LAB_TRACE_PID    ? line.pid < 2
	    : line.trace == LAB_TRACE_UNIT ? !lab_journal_is_our_unit(line.value)
					   : !lab_journal_is_ours(line.value))
		abort();
	return 0;
}

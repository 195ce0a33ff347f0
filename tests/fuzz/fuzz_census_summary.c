#include "census_summary.h"
#include "fuzz.h"

/* Whatever decodes encodes to the same numbers again. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	AUTO_CENSUS_SUMMARY struct census_summary a = { 0 }, b = { 0 };
	AUTO_BUF struct buf again = { 0 };

	if (census_summary_decode(bytes, len, &a) < 0)
		return 0;
	census_summary_encode(&again, &a, CENSUS_MOST_GROUPS);
	if (census_summary_decode(again.data, again.len, &b) < 0 || a.dying != b.dying ||
	    a.groups.len != b.groups.len)
		abort();
	return 0;
}

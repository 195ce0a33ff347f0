#include "churn_summary.h"
#include "fuzz.h"

/* Whatever decodes encodes to the same groups again. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	AUTO_CHURN_SUMMARY struct churn_summary a = { 0 }, b = { 0 };
	AUTO_BUF struct buf again = { 0 };

	if (churn_summary_decode(bytes, len, &a) < 0)
		return 0;
	churn_summary_encode(&again, &a, CHURN_MOST_GROUPS);
	if (churn_summary_decode(again.data, again.len, &b) < 0 || a.groups.len != b.groups.len)
		abort();
	return 0;
}

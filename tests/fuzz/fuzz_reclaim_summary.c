#include "reclaim_summary.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	AUTO_RECLAIM_SUMMARY struct reclaim_summary a = { 0 }, b = { 0 };
	AUTO_BUF struct buf again = { 0 };

	/* names as the kernel gives them */
	(void)reclaim_path(&a.strings, (const char *)bytes, len);
	if (reclaim_summary_decode(bytes, len, &a) < 0)
		return 0;
	reclaim_summary_encode(&again, &a);
	if (reclaim_summary_decode(again.data, again.len, &b) < 0 || a.rows.len != b.rows.len ||
	    a.payers.len != b.payers.len)
		__builtin_trap();
	reclaim_summary_subtract(&b, &a);
	reclaim_summary_merge(&a, &b);
	reclaim_summary_sort(&a);
	reclaim_summary_count(&a, NULL);
	reclaim_summary_zombie(&a, (const char *)bytes, len);
	vec_foreach (&a.rows, r)
		(void)reclaim_row_percentile(r, 0.99);
	return 0;
}

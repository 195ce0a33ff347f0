#include "eh_ranges.h"
#include "fuzz.h"

/* The first byte says where the header ends and the entries begin. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct eh_ranges r = { 0 };
	uint64_t start;

	if (!len)
		return 0;
	size_t split = bytes[0] < len ? bytes[0] : len - 1;
	eh_ranges_parse(bytes + 1, split, 0x2000, bytes + 1 + split, len - 1 - split, 0x3000, &r);
	for (size_t i = 1; i < r.list.len; i++)
		if (r.list.items[i].start < r.list.items[i - 1].start)
			abort();
	for (uint64_t a = 0; a < 0x4000; a += 64)
		eh_ranges_find(&r, a, &start);
	eh_ranges_free(&r);
	return 0;
}

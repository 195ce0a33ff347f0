#include "fuzz.h"
#include "totals.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct totals t = { 0 };
	AUTO_BUF struct buf out = { 0 };

	if (totals_decode(&t, bytes, len) == 0)
		totals_encode(&t, &out);
	totals_free(&t);
	return 0;
}

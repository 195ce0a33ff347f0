#include "folded.h"
#include "fuzz.h"

/* What parses and is compared with itself shows the same count on both sides. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	AUTO_FOLDED struct folded f = { 0 };
	AUTO_BUF struct buf out = { 0 };
	struct folded_diff_options options = { .normalize = true, .strip_hex = true };

	if (folded_parse((const char *)bytes, len, &f, NULL) < 0)
		return 0;
	if (folded_diff(&out, &f, &f, &options, NULL) < 0)
		abort();
	return 0;
}

#include "quota.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_text(bytes, len);
	struct rec_quota row = { 0 };

	(void)quota_parse_max(text, &row);
	(void)quota_parse_stat(text, len & 1, &row);
	free(text);
	return 0;
}

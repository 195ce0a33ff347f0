#include "fuzz.h"
#include "timefmt.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_text(bytes, len);
	uint64_t ns;
	struct err err;

	if (timefmt_parse(text, UINT64_C(1700000000000000000), &ns, &err) == 0) {
		char out[TIMEFMT_MAX];
		timefmt_rfc3339(out, ns);
	}
	timefmt_parse_duration(text, &ns, &err);
	free(text);
	return 0;
}

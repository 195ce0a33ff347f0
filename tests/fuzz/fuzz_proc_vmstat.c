#include "proc_vmstat.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_text(bytes, len);
	AUTO_TICK struct tick t = { 0 };
	struct err err;

	(void)proc_vmstat_parse(text, &t, &err);
	free(text);
	return 0;
}

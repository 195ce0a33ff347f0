#include "proc_meminfo.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_text(bytes, len);
	AUTO_TICK struct tick t = { 0 };
	struct err err;

	(void)proc_meminfo_parse(text, &t, &err);
	free(text);
	return 0;
}

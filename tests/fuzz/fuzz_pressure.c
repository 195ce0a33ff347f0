#include "pressure.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_text(bytes, len);
	AUTO_TICK struct tick t = { 0 };
	struct err err;

	(void)pressure_parse(text, PRESSURE_IO, &t, &err);
	free(text);
	return 0;
}

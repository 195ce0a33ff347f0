#include "fuzz.h"
#include "ksym_ask.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_text(bytes, len);
	struct ksym sym;

	(void)ksym_parse(text, &sym);
	free(text);
	return 0;
}

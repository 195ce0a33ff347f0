#include "nic_irq.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_text(bytes, len);
	AUTO_TICK struct tick t = { 0 };
	struct err err;

	(void)nic_irq_parse(text, 34, &t, &err);
	free(text);
	return 0;
}

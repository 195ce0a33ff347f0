#include "fuzz.h"
#include "plan_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	AUTO_PLAN_FILE struct plan_file p = { 0 };
	char *text = fuzz_text(bytes, len);
	struct err err;

	(void)plan_file_parse(text, &p, &err);
	free(text);
	return 0;
}

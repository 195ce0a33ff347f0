#include "fuzz.h"
#include "kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_text(bytes, len);
	struct kallsyms k;
	uint64_t start;
	const char *module;

	if (kallsyms_parse(text, &k, NULL) == 0) {
		kallsyms_add(&k, 0xffffffff81000123, 7, "x", true);
		for (uint64_t a = 0; a < 64; a++)
			kallsyms_find(&k, 0xffffffff81000000 + a * 64, &start, &module);
		kallsyms_free(&k);
	}
	free(text);
	return 0;
}

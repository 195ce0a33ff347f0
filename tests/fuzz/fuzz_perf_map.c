#include "fuzz.h"
#include "perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_text(bytes, len);
	struct symtab t = { 0 };

	perf_map_parse(text, &t);
	symtab_finish(&t);
	symtab_find(&t, 0x3ef414c0);
	symtab_free(&t);
	free(text);
	return 0;
}

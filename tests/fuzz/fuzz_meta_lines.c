#include "meta_lines.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const char *text = (const char *)bytes, *at = NULL;
	uint64_t n;

	size_t found = meta_lines_find(text, len, "host", &at);
	if (found && (at < text || at + found > text + len || found > len))
		__builtin_trap();
	(void)meta_lines_u64(text, len, "cores", &n);
	return 0;
}

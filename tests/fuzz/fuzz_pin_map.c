#include "fuzz.h"
#include "pin_holders.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_text(bytes, len);
	char range[40];
	uint32_t major, minor;
	uint64_t inode;

	if (pin_holders_parse_map(text, range, &major, &minor, &inode) &&
	    (!inode || strlen(range) > 39))
		abort();
	free(text);
	return 0;
}

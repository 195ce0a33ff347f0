#include "demangle.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_text(bytes, len), name[64];

	if (demangle_rust(text, name, sizeof(name)) && strlen(name) >= sizeof(name))
		abort();
	free(text);
	return 0;
}

#include "fuzz.h"
#include "pattern.h"

static void fuzz_say(void *arg, unsigned line, const char *what)
{
	(void)arg;
	if (!line || !*what)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_text(bytes, len);
	size_t rows;

	pattern_check(text, fuzz_say, NULL, &rows);
	free(text);
	return 0;
}

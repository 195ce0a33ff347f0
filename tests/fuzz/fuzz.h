/* What every fuzz target implements. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* Parsers take text: a NUL-terminated copy of the input, to be freed. */
static inline char *fuzz_text(const uint8_t *bytes, size_t len)
{
	char *text = malloc(len + 1);
	if (!text)
		abort();
	memcpy(text, bytes, len);
	text[len] = '\0';
	return text;
}

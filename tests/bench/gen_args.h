/* Options of the generators: "DIR [--name NUMBER]...". */
#pragma once

#include <stdint.h>
#include <string.h>

#include "text.h"

struct gen_arg {
	const char *name;
	uint64_t *value;
};

/* false = print the usage. */
static inline bool gen_args_parse(int argc, char **argv, const struct gen_arg *args, size_t n)
{
	for (int i = 2; i < argc; i += 2) {
		bool known = false;
		for (size_t k = 0; k < n; k++)
			if (strcmp(argv[i], args[k].name) == 0)
				known = i + 1 < argc && text_u64(argv[i + 1], args[k].value) == 0;
		if (!known)
			return false;
	}
	return argc >= 2 && argv[1][0] != '-';
}

#include "proc_stat.h"

#include "fuzz.h"
#include "scan.h"

enum { FUZZ_NUMBERS = 4 };

/* Numbers that are found in one go are those that are found one by one, wherever one starts. */
static void fuzz_numbers(const char *text, const char *end)
{
	uint64_t found[2][FUZZ_NUMBERS], slow;

	for (const char *p = text; p < end; p++) {
		const char *to[2] = {
			scan_numbers(text, p, end, FUZZ_NUMBERS, (char *)found[0]),
			scan_numbers_plain(text, p, end, FUZZ_NUMBERS, (char *)found[1]),
		};
		for (unsigned way = 0; way < 2; way++) {
			const char *at = p;
			for (unsigned n = 0; to[way] && n < FUZZ_NUMBERS; n++)
				if (!(at = scan_next_u64(at, &slow)) || slow != found[way][n])
					abort();
			if (to[way] && at + 1 != to[way])
				abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_text(bytes, len);
	AUTO_TICK struct tick t = { 0 };
	struct err err;

	(void)proc_stat_parse(text, &t, &err);
	fuzz_numbers(text, text + len);
	free(text);
	return 0;
}

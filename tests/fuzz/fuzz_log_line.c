#include "fuzz.h"
#include "log_scan.h"

static void fuzz_each(void *arg, const struct log_scan_line *line)
{
	if (line->line->len > *(size_t *)arg)
		abort();
}

/* Each line alone, and all of them through the block scan. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static struct pattern_set *patterns;
	static struct log_scan scan;
	char *scratch = malloc(len + 1);
	struct log_line line;

	if (!patterns && pattern_set_new(NULL, NULL, &patterns, NULL) < 0)
		abort();
	log_line_parse((const char *)bytes, len, UINT64_C(1784000000000000000), scratch, &line);
	free(scratch);
	log_scan_init(&scan, UINT64_C(1784000000000000000));
	log_scan_block(&scan, patterns, (const char *)bytes, len, fuzz_each, &len);
	return 0;
}

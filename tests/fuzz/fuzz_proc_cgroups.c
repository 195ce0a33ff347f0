#include "proc_cgroups.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_text(bytes, len);
	struct rec_cgroups row = { 0 };
	struct err err;

	(void)proc_cgroups_parse(text, &row, &err);
	(void)cgroup_stat_parse(text, &row, &err);
	free(text);
	return 0;
}

#include "proc_pid.h"

#include "fuzz.h"

/* A name never reaches over the record, whatever it holds. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_text(bytes, len);
	AUTO_ARENA struct arena strings = { 0 };
	struct rec_task row = { 0 };
	const char *path;
	size_t path_len;
	struct err err;

	if (proc_pid_stat_parse(text, len, &strings, &row, &err) == 0 && strlen(row.comm) > len)
		abort();
	(void)proc_pid_schedstat_parse(text, &row, &err);
	if (proc_pid_cgroup_parse(text, "memory", &path, &path_len) == 0 &&
	    path + path_len > text + len)
		abort();
	(void)proc_pid_cgroup_parse(text, NULL, &path, &path_len);
	free(text);
	return 0;
}

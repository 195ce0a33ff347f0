#include "fuzz.h"
#include "process_maps.h"

static void each(void *arg, const struct proc_maps_entry *e)
{
	uint32_t sum = 0;
	for (uint32_t i = 0; i < e->path_len; i++)
		sum += (uint8_t)e->path[i];
	process_add_map(arg, e->start, e->end, e->file_offset, sum);
}

/* Mappings stay sorted and never overlap, whatever came in. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_text(bytes, len);
	struct process_table t = { 0 };
	struct process *p = process_table_put(&t, 1);

	proc_maps_parse(text, each, p);
	for (size_t i = 1; i < p->maps.len; i++)
		if (p->maps.items[i - 1].end > p->maps.items[i].start)
			abort();
	process_table_free(&t);
	free(text);
	return 0;
}

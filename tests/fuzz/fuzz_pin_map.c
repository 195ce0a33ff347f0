#include "fuzz.h"
#include "process_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_text(bytes, len);
	struct process_map map;

	if (process_map_parse(text, &map) &&
	    ((!map.inode && !map.major && !map.minor) || strlen(map.range) > 39 ||
	     map.name < text || map.name > text + strlen(text) || (map.deleted && !*map.name)))
		abort();
	free(text);
	return 0;
}

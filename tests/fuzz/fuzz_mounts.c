#include "fuzz.h"
#include "mounts.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_text(bytes, len);
	struct mounts m = { 0 };
	struct arena strings = { 0 };

	if (mounts_parse(text, &m, NULL) == 0) {
		vec_foreach (&m.list, e)
			if (*e->dir != '/' || !e->top || !e->options)
				abort();
		mounts_path(&m, 254, 0, "/a/b", &strings);
		mounts_is_layer(&m, "/l1/x");
	}
	arena_free(&strings);
	mounts_free(&m);
	free(text);
	return 0;
}

#include "tar.h"

#include "fuzz.h"

/* Entries lie inside the archive, whatever their headers say. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct tar_reader r = { .at = (const char *)bytes, .end = (const char *)bytes + len };
	struct tar_entry e;

	while (tar_next(&r, &arena, &e, NULL) == 1)
		if (e.data < (const char *)bytes || e.data + e.len > (const char *)bytes + len)
			abort();
	return 0;
}

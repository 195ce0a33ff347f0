#include "fuzz.h"
#include "kmsg.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *scratch = malloc(len + 1);
	struct kmsg_record r;
	struct err err;

	if (kmsg_parse((const char *)bytes, len, scratch, &r, &err) == 0 &&
	    (strlen(r.text) > r.len || (r.device && strlen(r.device) > len)))
		abort();
	free(scratch);
	return 0;
}

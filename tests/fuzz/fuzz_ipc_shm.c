#include "fuzz.h"
#include "ipc_shm.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_text(bytes, len);
	struct ipc_shm shm = { 0 };
	const struct ipc_segment *found;

	ipc_shm_parse(text, 1, &shm);
	vec_foreach (&shm.segments, s)
		if (s->id > INT32_MAX || s->space != 1)
			abort();
	(void)ipc_shm_find(&shm, 5, text, &found);
	ipc_shm_free(&shm);
	free(text);
	return 0;
}

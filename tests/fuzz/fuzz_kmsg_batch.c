#include "fuzz.h"
#include "kmsg_batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct kmsg_batch b;
	const char *raw;
	size_t raw_len, sum = 0;
	uint64_t time_ns;

	if (kmsg_batch_open(&b, bytes, len) < 0)
		return 0;
	while (kmsg_batch_next(&b, &time_ns, &raw, &raw_len) > 0)
		sum += raw_len;
	if (sum > len)
		abort();
	return 0;
}

#include "fuzz.h"
#include "perf_ring.h"

static volatile uint64_t fuzz_sum;

/* Touch every byte that a parsed record points at: the sanitizer sees what lies outside. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	uint64_t sum = 0;

	for (unsigned flags = 0; flags < 2; flags++) {
		size_t at = 0, size;
		while ((size = perf_ring_record_size(bytes + at, len - at))) {
			struct perf_ring_record r;
			if (perf_ring_parse(bytes + at, len - at, flags, &r) == 0) {
				if (r.kind == PERF_RING_SAMPLE)
					for (uint32_t i = 0; i < r.sample.n; i++)
						sum += perf_ring_chain(&r, i);
				if (r.kind == PERF_RING_MMAP) {
					sum += strlen(r.mmap.path);
					for (int i = 0; i < r.mmap.build_id_len; i++)
						sum += r.mmap.build_id[i];
				}
				if (r.kind == PERF_RING_COMM)
					sum += strlen(r.comm.name);
				if (r.kind == PERF_RING_KSYMBOL)
					sum += strlen(r.ksymbol.name);
			}
			at += size;
		}
	}
	fuzz_sum = sum; /* keeps the reads */
	return 0;
}

#include "fuzz.h"
#include "profile_codec.h"
#include "profile_footer.h"

static void each_time(void *arg, uint64_t time_ns, uint32_t cpu)
{
	*(uint64_t *)arg += time_ns ^ cpu;
}

static void each_row(void *arg, const struct profile_cpu_second *row)
{
	*(uint64_t *)arg += profile_missing_ticks(row);
}

/* The first byte says where the dictionary ends and the second begins. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	AUTO_PROFILE struct profile p = { 0 };
	struct profile_decoder d = { .out = &p };
	struct profile_footer f = { 0 };
	uint64_t sum = 0;
	char name[64];

	if (len < 2 || profile_init(&p) < 0)
		return 0;
	uint16_t split;
	memcpy(&split, bytes, 2);
	bytes += 2;
	len -= 2;
	size_t first = split < len ? split : len;
	profile_decode_dictionary(&d, bytes, first);
	profile_decode_second(&d, bytes + first, len - first, 0, UINT64_MAX);
	profile_decode_times(bytes + first, len - first, each_time, &sum);
	profile_decode_rows(bytes + first, len - first, each_row, &sum);
	for (size_t i = 0; i < p.samples.len; i++)
		for (uint32_t s = p.samples.items[i].stack; s; s = p.stacks.items[s].parent)
			profile_frame_where(&p, p.stacks.items[s].frame, name, sizeof(name));
	profile_footer_decode_heat(bytes, len, &f);
	profile_footer_decode_cores(bytes, len, false, &f);
	profile_footer_free(&f);
	profile_decoder_free(&d);
	return 0;
}

#include "fuzz.h"
#include "perf_script.h"

struct seen {
	uint64_t samples, frames, bytes;
};

static int see_sample(void *arg, const struct perf_script_sample *s, struct err *err)
{
	struct seen *seen = arg;

	(void)err;
	seen->samples++;
	seen->frames += s->n_frames;
	seen->bytes += s->comm.len + s->event.len;
	for (size_t i = 0; i < s->n_frames; i++)
		for (size_t k = 0; k < s->frames[i].symbol.len; k++)
			seen->bytes += (unsigned char)s->frames[i].symbol.at[k] != 0;
	return 0;
}

/* How the bytes are cut into pieces must not matter. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static const struct perf_script_ops ops = { .sample = see_sample };
	static const size_t pieces[] = { SIZE_MAX, 1, 7 };
	struct seen seen[3] = { 0 };

	for (size_t i = 0; i < 3; i++) {
		AUTO_PERF_SCRIPT struct perf_script script;
		perf_script_init(&script, &ops, &seen[i]);
		for (size_t at = 0; at < len;) {
			size_t n = len - at < pieces[i] ? len - at : pieces[i];
			if (perf_script_feed(&script, (const char *)bytes + at, n, NULL) < 0)
				return 0;
			at += n;
		}
		perf_script_end(&script, NULL);
		if (i && memcmp(&seen[i], &seen[0], sizeof(seen[0])) != 0)
			abort();
	}
	return 0;
}

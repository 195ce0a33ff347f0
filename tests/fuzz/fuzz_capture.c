#include "capture.h"
#include "capture_units.h"
#include "captured.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_text(bytes, len);
	AUTO_BUF struct buf out = { 0 };
	AUTO_TICK struct tick t = { 0 };
	AUTO_UNKNOWNS struct unknowns unknowns = { 0 };

	capture_redact_unit(text, &out);
	if (strstr(buf_str(&out), "\nEnvironment"))
		abort();
	buf_clear(&out);
	capture_redact_kmsg(text, &out);
	if (capture_program_len(text) > strlen(text))
		abort();
	(void)captured_clock_parse(text, &t, NULL);
	captured_unknowns_parse(text, &unknowns);
	free(text);
	return 0;
}

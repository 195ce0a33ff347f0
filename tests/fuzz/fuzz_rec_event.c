#include "fuzz.h"
#include "rec_event.h"

/* Whatever decodes must encode to bytes that decode to the same event. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf again = { 0 };
	struct rec_event a, b;

	if (rec_event_decode(bytes, len, &arena, &a) < 0)
		return 0;
	rec_event_encode(&again, &a);
	if (rec_event_decode(again.data, again.len, &arena, &b) < 0 || b.time_ns != a.time_ns ||
	    strcmp(a.text, b.text) != 0 || a.n_fields != b.n_fields)
		abort();
	return 0;
}

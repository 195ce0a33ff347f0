#include "fuzz.h"
#include "offer.h"

/* Mount points never climb out of the arrays, whatever the table says. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_text(bytes, len);
	struct offer offer = { 0 };

	offer_parse_mountinfo(text, &offer);
	offer_judge(&offer, text, text);
	const struct offer_mount *mount = offer_memory_mount(&offer);
	if (mount && strlen(mount->dir) >= sizeof(mount->dir))
		abort();
	free(text);
	return 0;
}

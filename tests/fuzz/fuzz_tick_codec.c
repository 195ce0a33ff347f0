#include "fuzz.h"
#include "tick_codec.h"

/* Two bytes of length, the key, a tick. Whatever decodes must encode to bytes
 * that decode to the same number of rows. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	AUTO_TICK struct tick a = { 0 }, b = { 0 };
	AUTO_BUF struct buf again = { 0 };

	if (len < 2)
		return 0;
	size_t key_len = bytes[0] | (size_t)bytes[1] << 8;
	if (key_len > len - 2)
		return 0;
	struct tick_codec *c = tick_codec_new();
	if (tick_codec_decode_key(c, bytes + 2, key_len) == 0 &&
	    tick_codec_decode(c, bytes + 2 + key_len, len - 2 - key_len, &a) == 0) {
		if (tick_codec_encode(c, &a, &again) < 0 ||
		    tick_codec_decode(c, again.data, again.len, &b) < 0)
			abort();
		for (unsigned kind = 0; kind < REC_KIND_END; kind++)
			if (a.rows[kind].len != b.rows[kind].len)
				abort();
	}
	tick_codec_free(c);
	return 0;
}

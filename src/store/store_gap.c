#include "store_gap.h"

#include <errno.h>
#include <string.h>

#include "esc.h"
#include "text.h"
#include "wire.h"

void store_gap_encode(struct buf *out, const struct store_gap *gap)
{
	wire_put_u64(out, gap->from_ns);
	wire_put_u64(out, gap->to_ns - gap->from_ns);
	wire_put_u64(out, gap->frames);
	wire_put_bytes(out, gap->why, strlen(gap->why));
}

int store_gap_decode(const void *bytes, size_t len, struct store_gap *ret)
{
	struct store_gap gap;
	struct wire_reader r;
	size_t why_len;

	wire_open(&r, bytes, len);
	gap.from_ns = wire_get_u64(&r);
	gap.to_ns = gap.from_ns + wire_get_u64(&r);
	gap.frames = wire_get_u64(&r);
	const char *why = wire_get_bytes(&r, &why_len);
	if (!why || r.at != r.end || gap.to_ns < gap.from_ns)
		return -EBADMSG;
	text_copy_n(gap.why, sizeof(gap.why), why, why_len);
	esc_tty_in_place(gap.why);
	*ret = gap;
	return 0;
}

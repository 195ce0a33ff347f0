#include "kmsg_batch.h"

#include <errno.h>
#include <string.h>

void kmsg_batch_begin(struct buf *out, const char *boot_id, uint64_t last_seq, uint64_t lost,
		      uint64_t records)
{
	wire_put_bytes(out, boot_id, strlen(boot_id));
	wire_put_u64(out, last_seq);
	wire_put_u64(out, lost);
	wire_put_u64(out, records);
}

void kmsg_batch_add(struct buf *out, uint64_t real_ns, const char *raw, size_t len)
{
	wire_put_u64(out, real_ns);
	wire_put_bytes(out, raw, len);
}

int kmsg_batch_open(struct kmsg_batch *b, const void *bytes, size_t len)
{
	*b = (struct kmsg_batch){ 0 };
	wire_open(&b->rest, bytes, len);
	b->boot_id = wire_get_bytes(&b->rest, &b->boot_id_len);
	b->last_seq = wire_get_u64(&b->rest);
	b->lost = wire_get_u64(&b->rest);
	b->records = wire_get_u64(&b->rest);
	return b->rest.failed ? -EBADMSG : 0;
}

int kmsg_batch_next(struct kmsg_batch *b, uint64_t *ret_real_ns, const char **ret_raw,
		    size_t *ret_len)
{
	if (b->rest.failed || b->rest.at == b->rest.end)
		return 0;
	*ret_real_ns = wire_get_u64(&b->rest);
	*ret_raw = wire_get_bytes(&b->rest, ret_len);
	return b->rest.failed || !*ret_raw ? 0 : 1;
}

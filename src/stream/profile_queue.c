#include "profile_queue.h"

#include <stddef.h>
#include <string.h>

static size_t size_of(uint32_t n)
{
	return sizeof(struct profile_queued) + n * sizeof(struct symbolizer_place);
}

struct profile_queued *profile_queue_add(struct profile_queue *q, uint32_t n)
{
	size_t size = size_of(n);

	if (q->bytes.len - q->head + size > PROFILE_QUEUE_MOST_BYTES)
		return NULL;
	if (q->head == q->bytes.len)
		q->head = q->bytes.len = 0;
	if (!buf_reserve(&q->bytes, size)) {
		q->bytes.failed = false; /* memory may be there again later */
		return NULL;
	}
	struct profile_queued *s = (void *)(q->bytes.data + q->bytes.len);
	memset(s, 0, sizeof(*s));
	s->n = n;
	q->bytes.len += size;
	return s;
}

struct profile_queued *profile_queue_first(const struct profile_queue *q)
{
	return q->head < q->bytes.len ? (void *)(q->bytes.data + q->head) : NULL;
}

void profile_queue_drop(struct profile_queue *q)
{
	struct profile_queued *first = profile_queue_first(q);

	if (first)
		q->head += size_of(first->n);
	/* what lies before the head is moved away when it is the larger part */
	if (q->head > (1 << 20) && q->head > q->bytes.len / 2) {
		memmove(q->bytes.data, q->bytes.data + q->head, q->bytes.len - q->head);
		q->bytes.len -= q->head;
		q->head = 0;
	}
}

void profile_queue_free(struct profile_queue *q)
{
	buf_free(&q->bytes);
	q->head = 0;
}

#include "perf_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

/* pid, tid, time, cpu, reserved: what sample_id_all puts behind every record but SAMPLE */
enum { TRAILER_BYTES = 24 };

struct cursor {
	const uint8_t *at, *end;
	bool failed;
};

static const uint8_t *take(struct cursor *c, size_t len)
{
	if (c->failed || (size_t)(c->end - c->at) < len) {
		c->failed = true;
		return NULL;
	}
	const uint8_t *bytes = c->at;
	c->at += len;
	return bytes;
}

static uint32_t take_u32(struct cursor *c)
{
	uint32_t value = 0;
	const uint8_t *bytes = take(c, sizeof(value));
	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return value;
}

static uint64_t take_u64(struct cursor *c)
{
	uint64_t value = 0;
	const uint8_t *bytes = take(c, sizeof(value));
	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return value;
}

/* The kernel pads names with NULs up to the trailer. */
static const char *take_name(struct cursor *c)
{
	const char *name = (const char *)c->at;
	if (c->failed || c->at == c->end || !memchr(c->at, '\0', (size_t)(c->end - c->at))) {
		c->failed = true;
		return "";
	}
	return name;
}

static void take_id(struct cursor *c, struct perf_ring_record *r)
{
	r->pid = take_u32(c);
	r->tid = take_u32(c);
	r->time_ns = take_u64(c);
	r->cpu = take_u32(c);
	take_u32(c);
}

static void parse_sample(struct cursor *c, unsigned flags, struct perf_ring_record *r)
{
	r->kind = PERF_RING_SAMPLE;
	take_id(c, r);
	uint64_t n = take_u64(c);
	if (n > PERF_RING_MAX_CHAIN) {
		c->failed = true;
		return;
	}
	r->sample.n = (uint32_t)n;
	r->sample.chain = take(c, n * 8);
	r->sample.cgroup = flags & PERF_RING_CGROUP ? take_u64(c) : 0;
}

static void parse_mmap2(struct cursor *c, unsigned misc, struct perf_ring_record *r)
{
	uint32_t pid = take_u32(c), tid = take_u32(c);

	r->kind = PERF_RING_MMAP;
	r->mmap.start = take_u64(c);
	r->mmap.len = take_u64(c);
	r->mmap.file_offset = take_u64(c);
	r->mmap.build_id = NULL;
	r->mmap.build_id_len = 0;
	const uint8_t *id = take(c, 24);
	if (id && misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		r->mmap.build_id_len = id[0] <= 20 ? id[0] : 0;
		r->mmap.build_id = id + 4;
	}
	r->mmap.executable = take_u32(c) & 4; /* PROT_EXEC */
	take_u32(c);
	r->mmap.path = take_name(c);
	r->pid = pid;
	r->tid = tid;
}

static void parse_ksymbol(struct cursor *c, struct perf_ring_record *r)
{
	r->kind = PERF_RING_KSYMBOL;
	r->ksymbol.start = take_u64(c);
	r->ksymbol.len = take_u32(c);
	const uint8_t *bytes = take(c, 4);
	uint16_t type = 0, ksymbol_flags = 0;
	if (bytes) {
		memcpy(&type, bytes, 2);
		memcpy(&ksymbol_flags, bytes + 2, 2);
	}
	r->ksymbol.bpf = type == PERF_RECORD_KSYMBOL_TYPE_BPF;
	r->ksymbol.unregister = ksymbol_flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	r->ksymbol.name = take_name(c);
	/* The kernel reserves one more trailer in the record for every event that saw it before
	 * ours (ours on other cores, other recorders'): what stands at its end is what the ring
	 * held before. The one that was written follows the name. */
	c->end += TRAILER_BYTES;
	take(c, (strlen(r->ksymbol.name) + 8) & ~(size_t)7);
	take_id(c, r);
}

static void parse_task(struct cursor *c, struct perf_ring_record *r, bool fork)
{
	r->kind = fork ? PERF_RING_FORK : PERF_RING_EXIT;
	r->pid = take_u32(c);
	r->task.parent_pid = take_u32(c);
	r->tid = take_u32(c);
	r->task.parent_tid = take_u32(c);
}

static void parse_body(struct cursor *c, const struct perf_event_header *head,
		       struct perf_ring_record *r)
{
	switch (head->type) {
	case PERF_RECORD_MMAP2:
		parse_mmap2(c, head->misc, r);
		break;
	case PERF_RECORD_COMM:
		r->kind = PERF_RING_COMM;
		r->pid = take_u32(c);
		r->tid = take_u32(c);
		r->comm.name = take_name(c);
		r->comm.exec = head->misc & PERF_RECORD_MISC_COMM_EXEC;
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		parse_task(c, r, head->type == PERF_RECORD_FORK);
		break;
	case PERF_RECORD_LOST:
		r->kind = PERF_RING_LOST;
		take_u64(c); /* event id */
		r->lost = take_u64(c);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		r->kind = PERF_RING_LOST;
		r->lost = take_u64(c);
		break;
	case PERF_RECORD_THROTTLE:
		r->kind = PERF_RING_THROTTLE;
		break;
	case PERF_RECORD_KSYMBOL:
		parse_ksymbol(c, r);
		break;
	default:
		break;
	}
}

size_t perf_ring_record_size(const void *bytes, size_t len)
{
	struct perf_event_header head;

	if (len < sizeof(head))
		return 0;
	memcpy(&head, bytes, sizeof(head));
	return head.size >= sizeof(head) && head.size <= len ? head.size : 0;
}

int perf_ring_parse(const void *bytes, size_t len, unsigned flags, struct perf_ring_record *ret)
{
	struct perf_ring_record r = { 0 };
	struct perf_event_header head;
	size_t size = perf_ring_record_size(bytes, len);

	if (!size)
		return -EBADMSG;
	memcpy(&head, bytes, sizeof(head));
	const uint8_t *start = bytes;
	struct cursor c = { start + sizeof(head), start + size, false };
	if (head.type == PERF_RECORD_SAMPLE) {
		parse_sample(&c, flags, &r);
	} else {
		if (size < sizeof(head) + TRAILER_BYTES)
			return -EBADMSG;
		struct cursor trailer = { c.end - TRAILER_BYTES, c.end, false };
		c.end -= TRAILER_BYTES;
		take_id(&trailer, &r);
		parse_body(&c, &head, &r);
	}
	if (c.failed)
		return -EBADMSG;
	*ret = r;
	return 0;
}

uint64_t perf_ring_chain(const struct perf_ring_record *record, uint32_t i)
{
	uint64_t address = 0;
	if (i < record->sample.n)
		memcpy(&address, record->sample.chain + (size_t)i * 8, 8);
	return address;
}

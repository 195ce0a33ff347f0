/* One record of perf.data → struct perf_rec. */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "auto.h"
#include "perf_data_impl.h"

/* Newer than the oldest header this builds with. */
#define SAMPLE_WEIGHT_STRUCT (UINT64_C(1) << 24)
#define READ_LOST            (UINT64_C(1) << 4)
#define BRANCH_HW_INDEX      (UINT64_C(1) << 17)
#define BRANCH_COUNTERS      (UINT64_C(1) << 19)
#define MISC_MMAP_BUILD_ID   (1 << 14)
#define RECORD_CGROUP        19

/* Where a sample keeps its id, in u64s from the body's start; -1 = nowhere. */
static int sample_id_at(uint64_t type)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		return 0;
	if (!(type & PERF_SAMPLE_ID))
		return -1;
	return !!(type & PERF_SAMPLE_IP) + !!(type & PERF_SAMPLE_TID) +
	       !!(type & PERF_SAMPLE_TIME) + !!(type & PERF_SAMPLE_ADDR);
}

/* The same in the trailer of other records, counted from the record's end. */
static int trailer_id_at(uint64_t type)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		return 1;
	if (!(type & PERF_SAMPLE_ID))
		return -1;
	return 1 + !!(type & PERF_SAMPLE_CPU) + !!(type & PERF_SAMPLE_STREAM_ID);
}

static size_t trailer_len(const struct perf_attr *a)
{
	uint64_t in_trailer = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			      PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
	if (!(a->flags & PERF_ATTR_SAMPLE_ID_ALL))
		return 0;
	return 8 * (size_t)__builtin_popcountll(a->sample_type & in_trailer);
}

/* The event that a record belongs to: by its id when there are several, as perf does. The place of
 * the id is the same for all events of a file. */
static unsigned record_attr(const struct perf_data *d, uint32_t type, struct perf_bytes b)
{
	if (d->attrs.len <= 1)
		return 0;
	const struct perf_attr *first = &d->attrs.items[0];
	int at = type == PERF_RECORD_SAMPLE ? sample_id_at(first->sample_type)
					    : trailer_id_at(first->sample_type);
	if (at < 0 || (type != PERF_RECORD_SAMPLE && !(first->flags & PERF_ATTR_SAMPLE_ID_ALL)))
		return 0;
	size_t left = perf_bytes_left(&b);
	size_t offset = type == PERF_RECORD_SAMPLE ? 8 * (size_t)at : left - 8 * (size_t)at;
	if (left < 8 || offset > left - 8)
		return 0;
	b.at += offset;
	const uint64_t *attr = map_u64_get(&d->ids, perf_bytes_u64(&b));
	return attr && *attr < d->attrs.len ? (unsigned)*attr : 0;
}

static void decode_trailer(const struct perf_attr *a, struct perf_bytes *b, struct perf_rec *rec)
{
	uint64_t type = a->sample_type;

	if (!(a->flags & PERF_ATTR_SAMPLE_ID_ALL))
		return;
	if (type & PERF_SAMPLE_TID) {
		rec->pid = perf_bytes_u32(b);
		rec->tid = perf_bytes_u32(b);
		rec->have |= PERF_HAVE_TID;
	}
	if (type & PERF_SAMPLE_TIME) {
		rec->time = perf_bytes_u64(b);
		rec->have |= PERF_HAVE_TIME;
	}
	if (type & PERF_SAMPLE_ID) {
		rec->id = perf_bytes_u64(b);
		rec->have |= PERF_HAVE_ID;
	}
	if (type & PERF_SAMPLE_STREAM_ID) {
		rec->stream_id = perf_bytes_u64(b);
		rec->have |= PERF_HAVE_STREAM;
	}
	if (type & PERF_SAMPLE_CPU) {
		rec->cpu = perf_bytes_u32(b);
		perf_bytes_u32(b);
		rec->have |= PERF_HAVE_CPU;
	}
	if (type & PERF_SAMPLE_IDENTIFIER) {
		rec->id = perf_bytes_u64(b);
		rec->have |= PERF_HAVE_ID;
	}
}

static void skip_read(const struct perf_attr *a, struct perf_bytes *b)
{
	uint64_t f = a->read_format;
	size_t times = !!(f & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		       (size_t) !!(f & PERF_FORMAT_TOTAL_TIME_RUNNING);
	size_t each = 1 + !!(f & PERF_FORMAT_ID) + (size_t) !!(f & READ_LOST);
	uint64_t n = 1;

	if (f & PERF_FORMAT_GROUP)
		n = perf_bytes_u64(b);
	perf_bytes_take(b, 8 * times);
	if (n > perf_bytes_left(b) / 8)
		b->failed = true;
	else
		perf_bytes_take(b, 8 * n * each);
}

static void decode_chain(struct perf_decoder *dec, struct perf_bytes *b, struct perf_rec *rec)
{
	uint64_t n = perf_bytes_u64(b);

	if (b->failed || n > perf_bytes_left(b) / 8) {
		b->failed = true;
		return;
	}
	size_t keep = (size_t)MIN_OF(n, PERF_CHAIN_MAX);
	memcpy(dec->chain, b->at, 8 * keep);
	if (b->swap)
		for (size_t i = 0; i < keep; i++)
			dec->chain[i] = __builtin_bswap64(dec->chain[i]);
	perf_bytes_take(b, 8 * n);
	rec->chain = dec->chain;
	rec->n_chain = keep;
	rec->chain_cut = keep < n;
	rec->have |= PERF_HAVE_CHAIN;
}

/* `perf record --call-graph lbr`: the CPU's own call stack takes the place of the user part of the
 * chain, as perf shows it: where the last call went to, then where each came from. */
static void chain_from_branches(struct perf_decoder *dec, struct perf_bytes b, uint64_t n,
				struct perf_rec *rec)
{
	size_t at = 0;

	while (at < rec->n_chain && dec->chain[at] != (uint64_t)PERF_CONTEXT_USER)
		at++;
	if (n == 0 || at + 1 >= PERF_CHAIN_MAX || (at == rec->n_chain && rec->n_chain))
		return;
	dec->chain[at++] = (uint64_t)PERF_CONTEXT_USER;
	for (uint64_t i = 0; i < n && at < PERF_CHAIN_MAX; i++) {
		uint64_t from = perf_bytes_u64(&b), to = perf_bytes_u64(&b);
		perf_bytes_u64(&b); /* flags */
		if (i == 0)
			dec->chain[at++] = to;
		if (at < PERF_CHAIN_MAX)
			dec->chain[at++] = from;
	}
	rec->chain = dec->chain;
	rec->n_chain = at;
}

static void decode_branches(struct perf_decoder *dec, const struct perf_attr *a,
			    struct perf_bytes *b, struct perf_rec *rec)
{
	uint64_t n = perf_bytes_u64(b);
	size_t each = 24;

	if (a->branch_sample_type & BRANCH_HW_INDEX)
		perf_bytes_u64(b);
	if (a->branch_sample_type & BRANCH_COUNTERS)
		each += 8; /* they lie behind all entries */
	if (n > perf_bytes_left(b) / each) {
		b->failed = true;
		return;
	}
	if ((a->branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK) &&
	    (rec->have & PERF_HAVE_CHAIN))
		chain_from_branches(dec, *b, n, rec);
	perf_bytes_take(b, n * each);
}

static void skip_regs(uint64_t mask, struct perf_bytes *b)
{
	if (perf_bytes_u64(b)) /* abi 0 = no registers follow */
		perf_bytes_take(b, 8 * (size_t)__builtin_popcountll(mask));
}

/* What lies between the call chain and the cgroup id. */
static void decode_after_chain(struct perf_decoder *dec, const struct perf_attr *a,
			       struct perf_bytes *b, struct perf_rec *rec)
{
	uint64_t type = a->sample_type;

	if (type & PERF_SAMPLE_RAW)
		perf_bytes_take(b, perf_bytes_u32(b));
	if (type & PERF_SAMPLE_BRANCH_STACK)
		decode_branches(dec, a, b, rec);
	if (type & PERF_SAMPLE_REGS_USER)
		skip_regs(a->regs_user, b);
	if (type & PERF_SAMPLE_STACK_USER) {
		uint64_t size = perf_bytes_u64(b);
		rec->stack_dump = size > 0;
		if (size)
			perf_bytes_take(b, size > PERF_RECORD_BYTES ? SIZE_MAX : size + 8);
	}
	if (type & (PERF_SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT))
		perf_bytes_u64(b);
	if (type & PERF_SAMPLE_DATA_SRC)
		perf_bytes_u64(b);
	if (type & PERF_SAMPLE_TRANSACTION)
		perf_bytes_u64(b);
	if (type & PERF_SAMPLE_REGS_INTR)
		skip_regs(a->regs_intr, b);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		perf_bytes_u64(b);
}

static void decode_sample(struct perf_decoder *dec, const struct perf_attr *a, struct perf_bytes *b,
			  struct perf_rec *rec)
{
	uint64_t type = a->sample_type;

	if (type & PERF_SAMPLE_IDENTIFIER)
		rec->id = perf_bytes_u64(b), rec->have |= PERF_HAVE_ID;
	if (type & PERF_SAMPLE_IP)
		rec->ip = perf_bytes_u64(b), rec->have |= PERF_HAVE_IP;
	if (type & PERF_SAMPLE_TID) {
		rec->pid = perf_bytes_u32(b);
		rec->tid = perf_bytes_u32(b);
		rec->have |= PERF_HAVE_TID;
	}
	if (type & PERF_SAMPLE_TIME)
		rec->time = perf_bytes_u64(b), rec->have |= PERF_HAVE_TIME;
	if (type & PERF_SAMPLE_ADDR)
		rec->addr = perf_bytes_u64(b), rec->have |= PERF_HAVE_ADDR;
	if (type & PERF_SAMPLE_ID)
		rec->id = perf_bytes_u64(b), rec->have |= PERF_HAVE_ID;
	if (type & PERF_SAMPLE_STREAM_ID)
		rec->stream_id = perf_bytes_u64(b), rec->have |= PERF_HAVE_STREAM;
	if (type & PERF_SAMPLE_CPU) {
		rec->cpu = perf_bytes_u32(b);
		perf_bytes_u32(b);
		rec->have |= PERF_HAVE_CPU;
	}
	if (type & PERF_SAMPLE_PERIOD)
		rec->period = perf_bytes_u64(b), rec->have |= PERF_HAVE_PERIOD;
	if (type & PERF_SAMPLE_READ)
		skip_read(a, b);
	if (type & PERF_SAMPLE_CALLCHAIN)
		decode_chain(dec, b, rec);
	if (type & (PERF_SAMPLE_CGROUP | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_STACK_USER))
		decode_after_chain(dec, a, b, rec);
	if (type & PERF_SAMPLE_CGROUP) {
		rec->cgroup = perf_bytes_u64(b), rec->have |= PERF_HAVE_CGROUP;
	}
	/* without a period field the event's fixed period holds for every sample */
	if (!(type & PERF_SAMPLE_PERIOD) && !(a->flags & PERF_ATTR_FREQ))
		rec->period = a->period_or_freq;
}

/* A name that ends where the trailer begins, NUL or not. */
static const char *decode_text(struct perf_decoder *dec, struct perf_bytes *b)
{
	size_t len;
	const char *text = perf_bytes_text(b, &len);

	buf_clear(&dec->text);
	buf_add(&dec->text, text, len);
	return buf_str(&dec->text);
}

/* Kernels set the bit in the records of an event that did not ask for build ids, when another
 * recorder's event did (seen with 6.18; perf 6.1 itself crashes on such files). Then device and
 * inode stand there. `perf inject` in turn adds build ids to events that did not ask. */
static bool map_has_build_id(const struct perf_attr *a, const struct perf_rec *rec,
			     const struct perf_bytes *b)
{
	if (!(rec->misc & MISC_MMAP_BUILD_ID) || perf_bytes_left(b) < 4)
		return false;
	uint8_t len = b->at[0];
	if (b->at[1] || b->at[2] || b->at[3] || len == 0 || len > PERF_BUILD_ID_BYTES)
		return false;
	return (a->flags & PERF_ATTR_BUILD_ID) || len == 20 || len == 16;
}

static void decode_map(struct perf_decoder *dec, const struct perf_attr *a, struct perf_bytes *b,
		       struct perf_rec *rec)
{
	struct perf_map *m = &rec->map;

	m->pid = perf_bytes_u32(b);
	m->tid = perf_bytes_u32(b);
	m->start = perf_bytes_u64(b);
	m->len = perf_bytes_u64(b);
	m->pgoff = perf_bytes_u64(b);
	if (rec->type == PERF_RECORD_MMAP2) {
		if (map_has_build_id(a, rec, b)) {
			m->build_id_len = perf_bytes_u8(b);
			perf_bytes_take(b, 3);
			const void *id = perf_bytes_take(b, PERF_BUILD_ID_BYTES);
			if (id)
				memcpy(m->build_id, id, PERF_BUILD_ID_BYTES);
		} else {
			m->maj = perf_bytes_u32(b);
			m->min = perf_bytes_u32(b);
			m->ino = perf_bytes_u64(b);
			m->ino_generation = perf_bytes_u64(b);
		}
		m->prot = perf_bytes_u32(b);
		m->flags = perf_bytes_u32(b);
	}
	m->file = decode_text(dec, b);
}

static void decode_namespaces(struct perf_decoder *dec, struct perf_bytes *b, struct perf_rec *rec)
{
	rec->namespaces.pid = perf_bytes_u32(b);
	rec->namespaces.tid = perf_bytes_u32(b);
	uint64_t n = perf_bytes_u64(b);
	if (n > perf_bytes_left(b) / sizeof(struct perf_ns)) {
		b->failed = true;
		return;
	}
	dec->namespaces.len = 0;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t dev = perf_bytes_u64(b), ino = perf_bytes_u64(b);
		if (!vec_push(&dec->namespaces, ((struct perf_ns){ .dev = dev, .ino = ino })))
			b->failed = true;
	}
	rec->namespaces.n = n;
	rec->namespaces.list = dec->namespaces.items;
}

static void decode_body(struct perf_decoder *dec, const struct perf_attr *a, struct perf_bytes *b,
			struct perf_rec *rec)
{
	switch (rec->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		decode_map(dec, a, b, rec);
		break;
	case PERF_RECORD_LOST:
		rec->lost.id = perf_bytes_u64(b);
		rec->lost.lost = perf_bytes_u64(b);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		rec->lost.lost = perf_bytes_u64(b);
		break;
	case PERF_RECORD_COMM:
		rec->comm.pid = perf_bytes_u32(b);
		rec->comm.tid = perf_bytes_u32(b);
		rec->comm.comm = decode_text(dec, b);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		rec->fork.pid = perf_bytes_u32(b);
		rec->fork.ppid = perf_bytes_u32(b);
		rec->fork.tid = perf_bytes_u32(b);
		rec->fork.ptid = perf_bytes_u32(b);
		rec->fork.time = perf_bytes_u64(b);
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		rec->throttle.time = perf_bytes_u64(b);
		rec->throttle.id = perf_bytes_u64(b);
		rec->throttle.stream_id = perf_bytes_u64(b);
		break;
	case PERF_RECORD_SWITCH_CPU_WIDE:
	case PERF_RECORD_ITRACE_START:
		rec->next_prev.pid = perf_bytes_u32(b);
		rec->next_prev.tid = perf_bytes_u32(b);
		break;
	case PERF_RECORD_NAMESPACES:
		decode_namespaces(dec, b, rec);
		break;
	case PERF_RECORD_KSYMBOL:
		rec->ksymbol.addr = perf_bytes_u64(b);
		rec->ksymbol.len = perf_bytes_u32(b);
		rec->ksymbol.kind = perf_bytes_u16(b);
		rec->ksymbol.flags = perf_bytes_u16(b);
		rec->ksymbol.name = decode_text(dec, b);
		break;
	case RECORD_CGROUP:
		rec->cgroup_path.id = perf_bytes_u64(b);
		rec->cgroup_path.path = decode_text(dec, b);
		break;
	default:
		break;
	}
}

int perf_decode(struct perf_data *d, struct perf_decoder *dec, const struct perf_record_header *h,
		struct perf_bytes b, struct perf_rec *ret)
{
	struct perf_rec rec = { .type = h->type, .misc = h->misc, .size = h->size };

	if (d->attrs.len == 0)
		return -EBADMSG;
	rec.attr = record_attr(d, h->type, b);
	const struct perf_attr *a = &d->attrs.items[rec.attr];
	if (h->type == PERF_RECORD_SAMPLE) {
		decode_sample(dec, a, &b, &rec);
		if (b.failed)
			return -EBADMSG;
		*ret = rec;
		return 0;
	}
	size_t tail = trailer_len(a);
	if (tail > perf_bytes_left(&b))
		return -EBADMSG;
	struct perf_bytes body = { .at = b.at, .end = b.end - tail, .swap = b.swap };
	struct perf_bytes trailer = { .at = b.end - tail, .end = b.end, .swap = b.swap };
	decode_body(dec, a, &body, &rec);
	decode_trailer(a, &trailer, &rec);
	if (body.failed || trailer.failed)
		return -EBADMSG;
	*ret = rec;
	return 0;
}

uint64_t perf_decode_time(const struct perf_data *d, const struct perf_record_header *h,
			  struct perf_bytes b)
{
	if (d->attrs.len == 0)
		return 0;
	const struct perf_attr *a = &d->attrs.items[record_attr(d, h->type, b)];
	uint64_t type = a->sample_type;
	size_t at;
	if (!(type & PERF_SAMPLE_TIME))
		return 0;
	if (h->type == PERF_RECORD_SAMPLE) {
		at = 8 * (size_t)(!!(type & PERF_SAMPLE_IDENTIFIER) + !!(type & PERF_SAMPLE_IP) +
				  !!(type & PERF_SAMPLE_TID));
	} else {
		size_t tail = trailer_len(a);
		if (!tail || tail > perf_bytes_left(&b))
			return 0;
		at = perf_bytes_left(&b) - tail + (type & PERF_SAMPLE_TID ? 8 : 0);
	}
	perf_bytes_take(&b, at);
	uint64_t time = perf_bytes_u64(&b);
	return b.failed ? 0 : time;
}

void perf_decoder_free(struct perf_decoder *dec)
{
	vec_free(&dec->namespaces);
	buf_free(&dec->text);
}

/* The header of perf.data: attrs, ids, and the feature sections behind the data. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "perf_data_impl.h"
#include "text.h"

#define MAGIC_V1 UINT64_C(0x454c494646524550) /* "PERFFILE" read as little endian */
#define MAGIC_V2 UINT64_C(0x32454c4946524550) /* "PERFILE2" */

enum {
	HEADER_LEN_MIN = 72, /* without the feature bits (before 2.6.33) */
	HEADER_LEN = 104,
	PIPE_HEADER_LEN = 16,
	ATTR_LEN_MIN = 64, /* PERF_ATTR_SIZE_VER0 */
	ATTR_ENTRY_MAX = 4096,
};

enum perf_feature {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC = 12,
	FEATURE_SAMPLE_TIME = 21,
	FEATURE_CLOCKID = 23,
	FEATURE_CLOCK_DATA = 29,
};

/* The file was written on a host of this byte order, or of the other. */
static bool header_magic(uint64_t magic, bool *ret_swap)
{
	*ret_swap = magic == __builtin_bswap64(MAGIC_V1) || magic == __builtin_bswap64(MAGIC_V2);
	return *ret_swap || magic == MAGIC_V1 || magic == MAGIC_V2;
}

bool perf_data_is(const void *bytes, size_t len)
{
	uint64_t magic;
	bool swap;

	if (len < sizeof(magic))
		return false;
	memcpy(&magic, bytes, sizeof(magic));
	return header_magic(magic, &swap);
}

int perf_header_read(const struct perf_input *in, struct perf_data *d, struct perf_file *ret,
		     struct err *err)
{
	uint8_t bytes[HEADER_LEN] = { 0 };
	int64_t n = in->read_at(in->arg, 0, bytes, sizeof(bytes));
	struct perf_bytes b = { .at = bytes, .end = bytes + sizeof(bytes) };

	if (n < 0)
		return err_set(err, (int)n, "reading the header: %s", strerror((int)-n));
	if (n < PIPE_HEADER_LEN || !perf_data_is(bytes, (size_t)n))
		return err_set(err, -EBADMSG, "no perf.data file: it does not begin with PERFILE2");
	uint64_t magic = perf_bytes_u64(&b);
	header_magic(magic, &b.swap);
	d->swap = b.swap;
	uint64_t size = perf_bytes_u64(&b);
	if (size == PIPE_HEADER_LEN) {
		d->pipe = true;
		*ret = (struct perf_file){ .data_offset = PIPE_HEADER_LEN,
					   .data_size = in->size > PIPE_HEADER_LEN
								? in->size - PIPE_HEADER_LEN
								: 0 };
		return 0;
	}
	if (size < HEADER_LEN_MIN || n < HEADER_LEN_MIN || size > (1 << 20))
		return err_set(err, -EBADMSG, "perf.data: a header of %llu bytes is not known",
			       (unsigned long long)size);
	struct perf_file f = { 0 };
	f.attr_entry = perf_bytes_u64(&b);
	f.attrs_offset = perf_bytes_u64(&b);
	f.attrs_size = perf_bytes_u64(&b);
	f.data_offset = perf_bytes_u64(&b);
	f.data_size = perf_bytes_u64(&b);
	perf_bytes_u64(&b); /* event_types: replaced by EVENT_DESC in 2012 */
	perf_bytes_u64(&b);
	for (size_t i = 0; i < ARRAY_LEN(f.features); i++)
		f.features[i] = size >= HEADER_LEN ? perf_bytes_u64(&b) : 0;
	if (f.data_offset > in->size)
		return err_set(err, -EBADMSG,
			       "perf.data: its data begin behind the end of the file");
	*ret = f;
	return 0;
}

static uint64_t reverse_bits(uint64_t v)
{
	uint64_t r = 0;
	for (unsigned i = 0; i < 64; i++)
		r |= (v >> i & 1) << (63 - i);
	return r;
}

/* A perf_event_attr of any age: fields behind its end are 0. */
static int attr_parse(struct perf_bytes b, struct perf_attr *ret)
{
	struct perf_attr a = { 0 };

	if (perf_bytes_left(&b) < ATTR_LEN_MIN)
		return -EBADMSG;
	a.type = perf_bytes_u32(&b);
	a.size = perf_bytes_u32(&b);
	a.config = perf_bytes_u64(&b);
	a.period_or_freq = perf_bytes_u64(&b);
	a.sample_type = perf_bytes_u64(&b);
	a.read_format = perf_bytes_u64(&b);
	/* C bit fields: the other byte order also numbers the bits from the other end */
	a.flags = perf_bytes_u64(&b);
	if (b.swap)
		a.flags = reverse_bits(a.flags);
	perf_bytes_take(&b, 24); /* wakeup, bp_type, config1, config2 */
	if (perf_bytes_left(&b) >= 8)
		a.branch_sample_type = perf_bytes_u64(&b);
	if (perf_bytes_left(&b) >= 16) {
		a.regs_user = perf_bytes_u64(&b);
		perf_bytes_u32(&b);
		a.clockid = (int32_t)perf_bytes_u32(&b);
	}
	if (perf_bytes_left(&b) >= 8)
		a.regs_intr = perf_bytes_u64(&b);
	*ret = a;
	return 0;
}

static int attr_add_id(struct perf_data *d, uint64_t id, size_t attr)
{
	uint64_t *value = map_u64_put(&d->ids, id, NULL);
	if (!value)
		return -ENOMEM;
	*value = attr;
	return 0;
}

static int attrs_read_ids(const struct perf_input *in, struct perf_data *d, uint64_t offset,
			  uint64_t size, size_t attr, struct err *err)
{
	uint64_t ids[512];

	/* an id costs 8 bytes of the file, so the file bounds them */
	if (offset > in->size || size > in->size - offset)
		return err_set(err, -EBADMSG, "perf.data: ids of event %zu lie behind the end",
			       attr);
	for (uint64_t at = 0; at + 8 <= size;) {
		size_t want = (size_t)MIN_OF(sizeof(ids), (size - at) & ~UINT64_C(7));
		int64_t n = in->read_at(in->arg, offset + at, ids, want);
		if (n < 8)
			return err_set(err, -EBADMSG, "perf.data: ids of event %zu are cut", attr);
		for (int64_t i = 0; i < n / 8; i++)
			if (attr_add_id(d, d->swap ? __builtin_bswap64(ids[i]) : ids[i], attr) < 0)
				return err_set(err, -ENOMEM, "out of memory");
		at += (uint64_t)(n & ~INT64_C(7));
	}
	return 0;
}

int perf_header_read_attrs(const struct perf_input *in, struct perf_data *d,
			   const struct perf_file *file, struct err *err)
{
	uint8_t bytes[ATTR_ENTRY_MAX];
	uint64_t entry = file->attr_entry;

	if (entry < ATTR_LEN_MIN + 16 || entry > sizeof(bytes))
		return err_set(err, -EBADMSG, "perf.data: an event description of %llu bytes",
			       (unsigned long long)entry);
	uint64_t n_attrs = file->attrs_size / entry;
	if (n_attrs == 0 || n_attrs > PERF_ATTRS_MAX)
		return err_set(err, -EBADMSG, "perf.data: %llu events",
			       (unsigned long long)n_attrs);
	for (uint64_t i = 0; i < n_attrs; i++) {
		struct perf_attr a;
		int64_t n = in->read_at(in->arg, file->attrs_offset + i * entry, bytes, entry);
		if (n != (int64_t)entry)
			return err_set(err, -EBADMSG, "perf.data: cut inside event %llu",
				       (unsigned long long)i);
		struct perf_bytes b = { .at = bytes, .end = bytes + entry - 16, .swap = d->swap };
		if (attr_parse(b, &a) < 0 || !vec_push(&d->attrs, a))
			return err_set(err, -EBADMSG, "perf.data: event %llu is malformed",
				       (unsigned long long)i);
		b = (struct perf_bytes){ .at = bytes + entry - 16,
					 .end = bytes + entry,
					 .swap = d->swap };
		uint64_t offset = perf_bytes_u64(&b), size = perf_bytes_u64(&b);
		int r = attrs_read_ids(in, d, offset, size, i, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int perf_attr_record(struct perf_data *d, struct perf_bytes *b, struct err *err)
{
	struct perf_attr a;
	struct perf_bytes size = *b;

	if (d->attrs.len >= PERF_ATTRS_MAX)
		return err_set(err, -EBADMSG, "perf.data: more than %d events", PERF_ATTRS_MAX);
	perf_bytes_u32(&size);
	uint32_t len = perf_bytes_u32(&size);
	if (len == 0)
		len = ATTR_LEN_MIN;
	if (len > perf_bytes_left(b))
		return err_set(err, -EBADMSG, "perf.data: an event description is cut");
	struct perf_bytes body = { .at = b->at, .end = b->at + len, .swap = b->swap };
	if (attr_parse(body, &a) < 0 || !vec_push(&d->attrs, a))
		return err_set(err, -EBADMSG, "perf.data: an event description is malformed");
	perf_bytes_take(b, len);
	while (perf_bytes_left(b) >= 8)
		if (attr_add_id(d, perf_bytes_u64(b), d->attrs.len - 1) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* Two records of one build-id list share a layout; before 2.6.35 perf wrote no pid into them, which
 * shows as a name that lost its first four bytes. */
void perf_build_id_record(struct perf_data *d, uint16_t misc, struct perf_bytes *b)
{
	struct perf_build_id id = { .misc = misc };
	size_t len;

	id.pid = perf_bytes_u32(b);
	const uint8_t *bytes = perf_bytes_take(b, 24);
	if (!bytes)
		return;
	id.len = PERF_BUILD_ID_BYTES;
	/* PERF_RECORD_MISC_BUILD_ID_SIZE: byte 20 is the length */
	if ((misc & (1 << 15)) && bytes[PERF_BUILD_ID_BYTES] <= PERF_BUILD_ID_BYTES)
		id.len = bytes[PERF_BUILD_ID_BYTES];
	memcpy(id.bytes, bytes, PERF_BUILD_ID_BYTES);
	const char *file = perf_bytes_text(b, &len);
	if (text_starts(file, "nel.kallsyms]")) {
		memcpy(id.bytes, bytes - 4, PERF_BUILD_ID_BYTES);
		file -= 4;
		len += 4;
		id.pid = UINT32_MAX;
	}
	id.file = arena_strndup(&d->arena, file, len);
	if (id.file && id.len)
		(void)vec_push(&d->build_ids, id);
}

static void feature_build_ids(struct perf_data *d, struct perf_bytes *b)
{
	while (perf_bytes_left(b) >= PERF_HEADER_LEN) {
		perf_bytes_u32(b);
		uint16_t misc = perf_bytes_u16(b), size = perf_bytes_u16(b);
		if (size < PERF_HEADER_LEN + 28 || size - PERF_HEADER_LEN > (int)perf_bytes_left(b))
			return;
		struct perf_bytes one = { .at = b->at,
					  .end = b->at + size - PERF_HEADER_LEN,
					  .swap = b->swap };
		perf_bytes_take(b, size - PERF_HEADER_LEN);
		perf_build_id_record(d, misc, &one);
	}
}

/* Length, then the text, padded with NULs. NULL when cut. */
static char *feature_text(struct perf_data *d, struct perf_bytes *b)
{
	uint32_t len = perf_bytes_u32(b);
	const char *text = perf_bytes_take(b, len);
	return text ? arena_strndup(&d->arena, text, strnlen(text, len)) : NULL;
}

static const char *feature_cmdline(struct perf_data *d, struct perf_bytes *b)
{
	AUTO_BUF struct buf line = { 0 };
	uint32_t n = perf_bytes_u32(b);

	for (uint32_t i = 0; i < n && !b->failed; i++) {
		const char *word = feature_text(d, b);
		if (!word)
			break;
		buf_addf(&line, "%s%s", i ? " " : "", word);
	}
	return arena_strdup(&d->arena, buf_str(&line));
}

static void feature_event_desc(struct perf_data *d, struct perf_bytes *b)
{
	uint32_t n = perf_bytes_u32(b), attr_len = perf_bytes_u32(b);

	for (uint32_t i = 0; i < n && !b->failed; i++) {
		perf_bytes_take(b, attr_len);
		uint32_t n_ids = perf_bytes_u32(b);
		char *name = feature_text(d, b);
		size_t attr = i;
		for (uint32_t k = 0; k < n_ids && !b->failed; k++) {
			uint64_t id = perf_bytes_u64(b);
			const uint64_t *known = map_u64_get(&d->ids, id);
			if (known)
				attr = *known;
		}
		if (name && attr < d->attrs.len)
			d->attrs.items[attr].name = name;
	}
}

void perf_event_update_record(struct perf_data *d, struct perf_bytes *b)
{
	uint64_t kind = perf_bytes_u64(b), id = perf_bytes_u64(b);
	const uint64_t *attr = map_u64_get(&d->ids, id);
	size_t len;

	if (kind != 2 || !attr || *attr >= d->attrs.len) /* PERF_EVENT_UPDATE__NAME */
		return;
	const char *name = perf_bytes_text(b, &len);
	if (len)
		d->attrs.items[*attr].name = arena_strndup(&d->arena, name, len);
}

static void feature_clock_data(struct perf_data *d, struct perf_bytes *b)
{
	uint32_t version = perf_bytes_u32(b), clockid = perf_bytes_u32(b);
	uint64_t wall = perf_bytes_u64(b), clock = perf_bytes_u64(b);

	if (b->failed || version != 1)
		return;
	d->have_clock_data = true;
	d->clockid = clockid;
	d->clock_wall_ns = wall;
	d->clock_ns = clock;
}

void perf_feature_parse(struct perf_data *d, unsigned feature, const void *bytes, size_t len)
{
	struct perf_bytes b = { .at = bytes, .end = (const uint8_t *)bytes + len, .swap = d->swap };

	switch (feature) {
	case FEATURE_BUILD_ID:
		feature_build_ids(d, &b);
		break;
	case FEATURE_HOSTNAME:
		d->hostname = feature_text(d, &b);
		break;
	case FEATURE_OSRELEASE:
		d->osrelease = feature_text(d, &b);
		break;
	case FEATURE_VERSION:
		d->perf_version = feature_text(d, &b);
		break;
	case FEATURE_ARCH:
		d->arch = feature_text(d, &b);
		break;
	case FEATURE_CMDLINE:
		d->cmdline = feature_cmdline(d, &b);
		break;
	case FEATURE_EVENT_DESC:
		feature_event_desc(d, &b);
		break;
	case FEATURE_SAMPLE_TIME:
		if (len >= 16) {
			d->first_ns = perf_bytes_u64(&b);
			d->last_ns = perf_bytes_u64(&b);
			d->have_sample_time = true;
		}
		break;
	case FEATURE_CLOCK_DATA:
		feature_clock_data(d, &b);
		break;
	default:
		break;
	}
}

static bool feature_wanted(unsigned feature)
{
	return (feature >= FEATURE_BUILD_ID && feature <= FEATURE_ARCH) ||
	       feature == FEATURE_CMDLINE || feature == FEATURE_EVENT_DESC ||
	       feature == FEATURE_SAMPLE_TIME || feature == FEATURE_CLOCK_DATA;
}

/* One {offset, size} per feature bit, in bit order, right behind the data. A file whose perf was
 * killed has none: then nothing is known, and that is all. */
bool perf_header_read_features(const struct perf_input *in, struct perf_data *d,
			       const struct perf_file *file)
{
	uint64_t at = file->data_offset + file->data_size;
	bool whole = true;

	for (unsigned feature = 0; feature < 256; feature++) {
		uint8_t section[16];
		if (!(file->features[feature / 64] >> (feature % 64) & 1))
			continue;
		if (in->read_at(in->arg, at, section, sizeof(section)) != sizeof(section))
			return false;
		at += sizeof(section);
		struct perf_bytes b = { .at = section,
					.end = section + sizeof(section),
					.swap = d->swap };
		uint64_t offset = perf_bytes_u64(&b), size = perf_bytes_u64(&b);
		if (offset > in->size || size > in->size - offset) {
			whole = false;
			continue;
		}
		if (!feature_wanted(feature) || size > PERF_FEATURE_BYTES || size == 0)
			continue;
		AUTO_FREE uint8_t *bytes = malloc(size);
		if (bytes && in->read_at(in->arg, offset, bytes, size) == (int64_t)size)
			perf_feature_parse(d, feature, bytes, size);
	}
	return whole;
}

/* "cycles" → "cycles:u", as perf itself names an event that the file gives no name. */
static const char *attr_name_modified(const struct perf_attr *attr, const char *base, char *ret,
				      size_t size)
{
	static const struct {
		char letter;
		uint8_t exclude;
	} rings[] = { { 'k', 5 }, { 'u', 4 }, { 'h', 6 } };
	unsigned precise = attr->flags >> 15 & 3;
	bool host = attr->flags >> 19 & 1, guest = attr->flags >> 20 & 1, limited = precise > 0;
	char marks[16] = "";
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(rings); i++)
		limited |= attr->flags >> rings[i].exclude & 1;
	if (attr->flags & (UINT64_C(7) << 4))
		for (size_t i = 0; i < ARRAY_LEN(rings); i++)
			if (!(attr->flags >> rings[i].exclude & 1))
				marks[n++] = rings[i].letter;
	for (unsigned i = 0; i < precise; i++)
		marks[n++] = 'p';
	if (host || guest == limited) {
		if (!host)
			marks[n++] = 'H';
		if (!guest)
			marks[n++] = 'G';
	}
	if (n == 0)
		return base;
	snprintf(ret, size, "%s:%s", base, marks);
	return ret;
}

const char *perf_attr_name(const struct perf_attr *attr, char *ret, size_t size)
{
	static const char *const hardware[] = { "cycles",
						"instructions",
						"cache-references",
						"cache-misses",
						"branches",
						"branch-misses",
						"bus-cycles",
						"stalled-cycles-frontend",
						"stalled-cycles-backend",
						"ref-cycles" };
	static const char *const software[] = {
		"cpu-clock",        "task-clock",   "page-faults",  "context-switches",
		"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
		"emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"
	};
	static const char *const kinds[] = { "hardware", "software", "tracepoint",
					     "cache",    "raw",      "breakpoint" };

	if (attr->name && attr->name[0])
		return attr->name;
	/* the upper half of a hardware config names the PMU of a hybrid machine */
	if (attr->type == PERF_TYPE_HARDWARE && (uint32_t)attr->config < ARRAY_LEN(hardware))
		return attr_name_modified(attr, hardware[(uint32_t)attr->config], ret, size);
	if (attr->type == PERF_TYPE_SOFTWARE && attr->config < ARRAY_LEN(software))
		return attr_name_modified(attr, software[attr->config], ret, size);
	/* without blanks: in the text of perf script it is one word */
	if (attr->type < ARRAY_LEN(kinds))
		snprintf(ret, size, "%s:0x%llx", kinds[attr->type],
			 (unsigned long long)attr->config);
	else
		snprintf(ret, size, "pmu%u:0x%llx", attr->type, (unsigned long long)attr->config);
	return ret;
}

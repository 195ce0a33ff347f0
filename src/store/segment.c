#include "segment.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "text.h"
#include "tick_path.h"
#include "timefmt.h"
#include "wire.h"

enum { FOOTER_MOST_SECONDS = 100000, FOOTER_MOST_DICTS = 100000, FOOTER_MOST_BLOBS = 64 };

const char segment_magic[SEGMENT_MAGIC_BYTES] = "ZSCOPE2\n";
static const char end_magic[4] = "ZSE1";

/* 20 digits of start, dash, 8 hex digits of salt: sorts by time, needs no reading. */
void segment_name_print(char ret[SEGMENT_NAME_MAX], const struct segment_name *name)
{
	snprintf(ret, SEGMENT_NAME_MAX, "%020" PRIu64 "-%08" PRIx32 ".seg", name->start_ns,
		 name->salt);
}

bool segment_name_parse(const char *text, struct segment_name *ret)
{
	char again[SEGMENT_NAME_MAX];
	struct segment_name name;
	const char *p = text;
	uint64_t salt;

	if (text_take_u64(&p, &name.start_ns) < 0 || *p++ != '-' || text_take_hex(&p, &salt) < 0 ||
	    salt > UINT32_MAX)
		return false;
	name.salt = (uint32_t)salt;
	segment_name_print(again, &name);
	if (strcmp(again, text) != 0)
		return false;
	*ret = name;
	return true;
}

void segment_index_clear(struct segment_index *index)
{
	index->from_ns = index->to_ns = 0;
	index->kinds = 0;
	index->boot_id[0] = '\0';
	index->start_mono_ns = index->start_boot_ns = 0;
	index->seconds.len = index->dicts.len = index->blobs.len = 0;
	buf_clear(&index->bytes);
}

void segment_index_free(struct segment_index *index)
{
	vec_free(&index->seconds);
	vec_free(&index->dicts);
	vec_free(&index->blobs);
	buf_free(&index->bytes);
}

EVERY_TICK bool segment_index_add(struct segment_index *index, enum frame_kind kind,
				  uint64_t time_ns, uint64_t offset)
{
	if (kind < FRAME_KIND_END)
		index->kinds |= FRAME_BIT(kind);
	if (kind == FRAME_CLOCK) {
		if (!index->seconds.len)
			index->from_ns = time_ns;
		index->to_ns = time_ns + NS_PER_S;
		return vec_push(&index->seconds, (struct segment_second){ time_ns, offset });
	}
	if (segment_is_dict(kind))
		return vec_push(&index->dicts, (struct segment_dict){ kind, offset });
	return true;
}

bool segment_index_put_blob(struct segment_index *index, enum footer_kind kind, const void *bytes,
			    size_t len)
{
	struct segment_blob blob = { kind, index->bytes.len, len };

	buf_add(&index->bytes, bytes, len);
	if (index->bytes.failed)
		return false;
	vec_foreach (&index->blobs, old) {
		if (old->kind == kind) {
			*old = blob;
			return true;
		}
	}
	return vec_push(&index->blobs, blob);
}

void segment_footer_encode(struct buf *out, const struct segment_index *index)
{
	uint64_t time_ns = index->from_ns, offset = 0;

	wire_put_u64(out, index->from_ns);
	wire_put_u64(out, index->to_ns - index->from_ns);
	wire_put_u64(out, index->kinds);
	wire_put_bytes(out, index->boot_id, strlen(index->boot_id));
	wire_put_u64(out, index->start_mono_ns);
	wire_put_u64(out, index->start_boot_ns);
	wire_put_u64(out, index->seconds.len);
	vec_foreach (&index->seconds, second) {
		wire_put_i64(out, (int64_t)(second->time_ns - time_ns));
		wire_put_u64(out, second->offset - offset);
		time_ns = second->time_ns;
		offset = second->offset;
	}
	wire_put_u64(out, index->dicts.len);
	offset = 0;
	vec_foreach (&index->dicts, dict) {
		wire_put_u64(out, dict->kind);
		wire_put_u64(out, dict->offset - offset);
		offset = dict->offset;
	}
	wire_put_u64(out, index->blobs.len);
	vec_foreach (&index->blobs, blob) {
		wire_put_u64(out, blob->kind);
		wire_put_bytes(out, index->bytes.data + blob->offset, blob->len);
	}
}

static int footer_parse_seconds(struct wire_reader *r, uint64_t file_len, struct segment_index *ret)
{
	uint64_t n = wire_get_u64(r), time_ns = ret->from_ns, offset = 0;

	if (n > FOOTER_MOST_SECONDS)
		return -EBADMSG;
	for (uint64_t i = 0; i < n && !r->failed; i++) {
		time_ns += (uint64_t)wire_get_i64(r);
		offset += wire_get_u64(r);
		if (offset >= file_len)
			return -EBADMSG;
		if (!vec_push(&ret->seconds, (struct segment_second){ time_ns, offset }))
			return -ENOMEM;
	}
	return r->failed ? -EBADMSG : 0;
}

static int footer_parse_dicts(struct wire_reader *r, uint64_t file_len, struct segment_index *ret)
{
	uint64_t n = wire_get_u64(r), offset = 0;

	if (n > FOOTER_MOST_DICTS)
		return -EBADMSG;
	for (uint64_t i = 0; i < n && !r->failed; i++) {
		uint64_t kind = wire_get_u64(r);
		offset += wire_get_u64(r);
		if (offset >= file_len || !segment_is_dict((enum frame_kind)kind))
			return -EBADMSG;
		if (!vec_push(&ret->dicts, (struct segment_dict){ (enum frame_kind)kind, offset }))
			return -ENOMEM;
	}
	return r->failed ? -EBADMSG : 0;
}

static int footer_parse_blobs(struct wire_reader *r, struct segment_index *ret)
{
	uint64_t n = wire_get_u64(r);

	if (n > FOOTER_MOST_BLOBS)
		return -EBADMSG;
	for (uint64_t i = 0; i < n && !r->failed; i++) {
		uint64_t kind = wire_get_u64(r);
		size_t len;
		const void *bytes = wire_get_bytes(r, &len);
		if (bytes && !segment_index_put_blob(ret, (enum footer_kind)kind, bytes, len))
			return -ENOMEM;
	}
	return r->failed || r->at != r->end ? -EBADMSG : 0;
}

int segment_footer_parse(const void *bytes, size_t len, uint64_t file_len,
			 struct segment_index *ret)
{
	struct wire_reader r;
	size_t boot_len;

	segment_index_clear(ret);
	wire_open(&r, bytes, len);
	ret->from_ns = wire_get_u64(&r);
	ret->to_ns = ret->from_ns + wire_get_u64(&r);
	ret->kinds = (uint32_t)wire_get_u64(&r);
	const char *boot_id = wire_get_bytes(&r, &boot_len);
	if (!boot_id || boot_len >= sizeof(ret->boot_id))
		return -EBADMSG;
	text_copy_n(ret->boot_id, sizeof(ret->boot_id), boot_id, boot_len);
	ret->start_mono_ns = wire_get_u64(&r);
	ret->start_boot_ns = wire_get_u64(&r);
	int err = footer_parse_seconds(&r, file_len, ret);
	if (err == 0)
		err = footer_parse_dicts(&r, file_len, ret);
	if (err == 0)
		err = footer_parse_blobs(&r, ret);
	return err;
}

void segment_end_put(struct buf *out, uint32_t salt, uint64_t footer_offset)
{
	uint64_t offset = htole64(footer_offset);
	uint32_t crc = htole32(crc32c(salt, &offset, sizeof(offset)));

	buf_add(out, &offset, sizeof(offset));
	buf_add(out, &crc, sizeof(crc));
	buf_add(out, end_magic, sizeof(end_magic));
}

bool segment_end_parse(const uint8_t bytes[SEGMENT_END_BYTES], uint32_t salt,
		       uint64_t *ret_footer_offset)
{
	uint64_t offset;
	uint32_t crc;

	memcpy(&offset, bytes, 8);
	memcpy(&crc, bytes + 8, 4);
	if (memcmp(bytes + 12, end_magic, 4) != 0 ||
	    crc32c(salt, &offset, sizeof(offset)) != le32toh(crc))
		return false;
	*ret_footer_offset = le64toh(offset);
	return true;
}

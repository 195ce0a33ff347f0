/* Streaming JSON writer. Commas, nesting and escaping are its business; a view only says what is
 * where. Everything goes into a struct buf, which the caller prints. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "buf.h"

struct json {
	struct buf *out;
	unsigned depth;
	uint64_t has_member; /* bit per depth: a comma is due */
};

void json_init(struct json *j, struct buf *out);
/* key is NULL inside arrays and at top level. */
void json_object(struct json *j, const char *key);
void json_end_object(struct json *j);
void json_array(struct json *j, const char *key);
void json_end_array(struct json *j);
void json_str(struct json *j, const char *key, const char *text); /* NULL text → null */
void json_str_n(struct json *j, const char *key, const char *bytes, size_t len);
void json_u64(struct json *j, const char *key, uint64_t value);
void json_i64(struct json *j, const char *key, int64_t value);
/* Fixed number of decimals; NaN and infinity → null. */
void json_f64(struct json *j, const char *key, double value, unsigned decimals);
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);
/* `key`: RFC 3339 text and `key_ns`: integer. */
void json_time(struct json *j, const char *key, uint64_t ns);
/* The same for long lists: the key is a literal without escapes, so that nothing has to be looked
 * at. */
#define json_lit_u64(j, key, value) json_put_u64((j), ",\"" key "\":", sizeof(key) + 3, (value))
#define json_lit_str(j, key, text, n) \
	json_lead_str((j), ",\"" key "\":", sizeof(key) + 3, (text), (n))
/* lead is ",\"key\":". */
void json_lead_u64(struct json *j, const char *lead, size_t lead_len, uint64_t value);
void json_lead_str(struct json *j, const char *lead, size_t lead_len, const char *bytes,
		   size_t len);
/* Inline, so that the copy of the literal has a known length. */
static inline void json_put_u64(struct json *j, const char *lead, size_t lead_len, uint64_t value)
{
	struct buf *b = j->out;

	if (value > 9 || b->failed || b->cap - b->len < lead_len + 2 ||
	    !(j->has_member >> j->depth & 1)) {
		json_lead_u64(j, lead, lead_len, value);
		return;
	}
	memcpy(b->data + b->len, lead, lead_len);
	b->len += lead_len;
	b->data[b->len++] = (char)('0' + value);
	b->data[b->len] = '\0';
}
/* A value that is JSON already. */
void json_raw(struct json *j, const char *key, const char *text, size_t len);

/* Streaming JSON writer. Commas, nesting and escaping are its business; a view only says what is
 * where. Everything goes into a struct buf, which the caller prints. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "buf.h"
#include "esc.h"

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
/* A value that is JSON already. */
void json_raw(struct json *j, const char *key, const char *text, size_t len);

/* The first members of an object of a long list, written straight into the buffer: room is looked
 * for at texts only, which leave JSON_ROW_ROOM behind them, more than the numbers up to the next
 * text can take. Keys are literals without escapes; between begin and end there is at least one
 * member.
 *
 *	json_object(j, NULL);
 *	json_row_begin(&row, j);
 *	json_row_u64(&row, "id", 7);
 *	json_row_str(&row, "path", path, len);
 *	json_row_end(&row);
 *	json_end_object(j);
 */
enum { JSON_ROW_ROOM = 1024 };
struct json_row {
	struct json *j;
	char *at, *end;           /* a text that goes beyond `end` needs more memory */
	char lost[JSON_ROW_ROOM]; /* where numbers go without memory */
};

void json_row_begin(struct json_row *row, struct json *j);
void json_row_end(struct json_row *row);
#define json_row_u64(row, key, value) \
	json_row_put_u64((row), "\"" key "\":", sizeof(key) + 2, (value))
#define json_row_str(row, key, text, n) \
	json_row_put_str((row), "\"" key "\":", sizeof(key) + 2, (text), (n))
/* The way for texts with escapes and for more memory. */
void json_row_add_str(struct json_row *row, const char *lead, size_t lead_len, const char *bytes,
		      size_t len);

/* Inline, so that the copy of the lead has a known length. A comma ends each member; the row's end
 * takes the last one back. */
static inline void json_row_put_u64(struct json_row *row, const char *lead, size_t lead_len,
				    uint64_t value)
{
	char *at = row->at;

	memcpy(at, lead, lead_len);
	at += lead_len;
	if (value > 9)
		at = buf_put_u64(at, value);
	else
		*at++ = (char)('0' + value);
	*at = ',';
	row->at = at + 1;
}
static inline void json_row_put_str(struct json_row *row, const char *lead, size_t lead_len,
				    const char *bytes, size_t len)
{
	char *at = row->at + lead_len + 1;

	if (row->at + len < row->end) {
		char *end = esc_json_copy(at, bytes, len);
		if (end) {
			memcpy(row->at, lead, lead_len);
			at[-1] = '"';
			memcpy(end, "\",", 2);
			row->at = end + 2;
			return;
		}
	}
	json_row_add_str(row, lead, lead_len, bytes, len);
}

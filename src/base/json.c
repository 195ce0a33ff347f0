#include "json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "esc.h"
#include "timefmt.h"

enum { JSON_MAX_DEPTH = 63 };

void json_init(struct json *j, struct buf *out)
{
	*j = (struct json){ .out = out };
}

/* Our own names need no escapes; names from elsewhere may. */
static bool json_plain_key(const char *key, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (key[i] < 0x23 || key[i] == '\\' || key[i] == 0x7f)
			return false;
	return true;
}

static void json_lead(struct json *j, const char *key)
{
	uint64_t bit = UINT64_C(1) << j->depth;

	if (j->has_member & bit && j->depth)
		buf_add_char(j->out, ',');
	j->has_member |= bit;
	if (!key)
		return;
	size_t n = strlen(key);
	if (json_plain_key(key, n) && buf_reserve(j->out, n + 3)) {
		char *p = j->out->data + j->out->len;
		*p = '"';
		memcpy(p + 1, key, n);
		memcpy(p + n + 1, "\":", 3);
		j->out->len += n + 3;
		return;
	}
	buf_add_char(j->out, '"');
	esc_json(j->out, key, n);
	buf_add(j->out, "\":", 2);
}

static void json_open(struct json *j, const char *key, char bracket)
{
	json_lead(j, key);
	buf_add_char(j->out, bracket);
	if (j->depth < JSON_MAX_DEPTH)
		j->depth++;
	j->has_member &= ~(UINT64_C(1) << j->depth);
}

static void json_close(struct json *j, char bracket)
{
	buf_add_char(j->out, bracket);
	if (j->depth)
		j->depth--;
}

void json_object(struct json *j, const char *key)
{
	json_open(j, key, '{');
}

void json_end_object(struct json *j)
{
	json_close(j, '}');
}

void json_array(struct json *j, const char *key)
{
	json_open(j, key, '[');
}

void json_end_array(struct json *j)
{
	json_close(j, ']');
}

void json_str_n(struct json *j, const char *key, const char *bytes, size_t len)
{
	json_lead(j, key);
	buf_add_char(j->out, '"');
	esc_json(j->out, bytes, len);
	buf_add_char(j->out, '"');
}

void json_str(struct json *j, const char *key, const char *text)
{
	if (text)
		json_str_n(j, key, text, strlen(text));
	else
		json_null(j, key);
}

void json_u64(struct json *j, const char *key, uint64_t value)
{
	json_lead(j, key);
	buf_add_u64(j->out, value);
}

void json_i64(struct json *j, const char *key, int64_t value)
{
	json_lead(j, key);
	if (value < 0)
		buf_add_char(j->out, '-');
	buf_add_u64(j->out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void json_f64(struct json *j, const char *key, double value, unsigned decimals)
{
	if (!isfinite(value)) {
		json_null(j, key);
		return;
	}
	json_lead(j, key);
	buf_addf(j->out, "%.*f", (int)decimals, value);
}

void json_bool(struct json *j, const char *key, bool value)
{
	json_lead(j, key);
	buf_add_str(j->out, value ? "true" : "false");
}

void json_null(struct json *j, const char *key)
{
	json_lead(j, key);
	buf_add_str(j->out, "null");
}

void json_time(struct json *j, const char *key, uint64_t ns)
{
	char text[TIMEFMT_MAX];
	char twin[64];

	json_str(j, key, timefmt_rfc3339(text, ns));
	if (snprintf(twin, sizeof(twin), "%s_ns", key) < (int)sizeof(twin))
		json_u64(j, twin, ns);
}

void json_raw(struct json *j, const char *key, const char *text, size_t len)
{
	json_lead(j, key);
	buf_add(j->out, text, len);
}

/* Two rooms: one for the lead of a text and what its copy writes too much, one for numbers. */
void json_row_begin(struct json_row *row, struct json *j)
{
	struct buf *out = j->out;

	row->j = j;
	if (!buf_reserve(out, 2 * JSON_ROW_ROOM)) {
		row->at = row->end = row->lost;
		return;
	}
	row->at = out->data + out->len;
	row->end = out->data + out->cap - 2 * JSON_ROW_ROOM;
}

/* What was written counts. */
static void json_row_keep(const struct json_row *row, const char *at)
{
	struct buf *out = row->j->out;

	if (row->end == row->lost)
		return;
	out->len = (size_t)(at - out->data);
	out->data[out->len] = '\0';
}

void json_row_end(struct json_row *row)
{
	json_row_keep(row, row->at - 1);
	row->j->has_member |= UINT64_C(1) << row->j->depth;
}

void json_row_add_str(struct json_row *row, const char *lead, size_t lead_len, const char *bytes,
		      size_t len)
{
	struct buf *out = row->j->out;

	json_row_keep(row, row->at);
	buf_add(out, lead, lead_len);
	buf_add_char(out, '"');
	esc_json(out, bytes, len);
	buf_add(out, "\",", 2);
	json_row_begin(row, row->j);
}

#include "json.h"

#include <inttypes.h>
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

static void json_lead(struct json *j, const char *key)
{
	uint64_t bit = UINT64_C(1) << j->depth;

	if (j->has_member & bit && j->depth)
		buf_add_char(j->out, ',');
	j->has_member |= bit;
	if (key) {
		buf_add_char(j->out, '"');
		esc_json(j->out, key, strlen(key));
		buf_add_str(j->out, "\":");
	}
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
	buf_addf(j->out, "%" PRIu64, value);
}

void json_i64(struct json *j, const char *key, int64_t value)
{
	json_lead(j, key);
	buf_addf(j->out, "%" PRId64, value);
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

#include "json_read.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "buf.h"
#include "scan.h"
#include "text.h"

struct json_in {
	const char *at, *end;
	struct arena *arena;
	unsigned values;
};

static void json_skip(struct json_in *in)
{
	while (in->at < in->end &&
	       (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r'))
		in->at++;
}

static int json_hex4(const char *p, unsigned *ret)
{
	unsigned v = 0;

	for (int i = 0; i < 4; i++) {
		int d = scan_hex_digit(p[i]);
		if (d < 0)
			return -EBADMSG;
		v = v << 4 | (unsigned)d;
	}
	*ret = v;
	return 0;
}

static void json_put_utf8(struct buf *out, unsigned c)
{
	if (c < 0x80) {
		buf_add_char(out, (char)c);
	} else if (c < 0x800) {
		buf_add_char(out, (char)(0xc0 | c >> 6));
		buf_add_char(out, (char)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		buf_add_char(out, (char)(0xe0 | c >> 12));
		buf_add_char(out, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_add_char(out, (char)(0x80 | (c & 0x3f)));
	} else {
		buf_add_char(out, (char)(0xf0 | c >> 18));
		buf_add_char(out, (char)(0x80 | (c >> 12 & 0x3f)));
		buf_add_char(out, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_add_char(out, (char)(0x80 | (c & 0x3f)));
	}
}

static int json_escape(struct json_in *in, struct buf *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	unsigned c, low;

	if (in->at >= in->end)
		return -EBADMSG;
	char e = *in->at++;
	const char *simple = e ? strchr(from, e) : NULL;
	if (simple) {
		buf_add_char(out, to[simple - from]);
		return 0;
	}
	if (e != 'u' || in->end - in->at < 4 || json_hex4(in->at, &c) < 0)
		return -EBADMSG;
	in->at += 4;
	if (c >= 0xd800 && c < 0xdc00 && in->end - in->at >= 6 && in->at[0] == '\\' &&
	    in->at[1] == 'u' && json_hex4(in->at + 2, &low) == 0 && low >= 0xdc00 && low < 0xe000) {
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		in->at += 6;
	} else if (c >= 0xd800 && c < 0xe000) {
		c = 0xfffd;
	}
	json_put_utf8(out, c);
	return 0;
}

static int json_string(struct json_in *in, const char **ret)
{
	AUTO_BUF struct buf out = { 0 };

	in->at++; /* the quote */
	while (in->at < in->end && *in->at != '"') {
		if ((unsigned char)*in->at < 0x20)
			return -EBADMSG;
		if (*in->at != '\\') {
			const char *run = in->at;
			while (in->at < in->end && *in->at != '"' && *in->at != '\\' &&
			       (unsigned char)*in->at >= 0x20)
				in->at++;
			buf_add(&out, run, (size_t)(in->at - run));
			continue;
		}
		in->at++;
		if (json_escape(in, &out) < 0)
			return -EBADMSG;
	}
	if (in->at >= in->end)
		return -EBADMSG;
	in->at++;
	*ret = arena_strndup(in->arena, buf_str(&out), out.len);
	return *ret ? 0 : -ENOMEM;
}

static int json_number(struct json_in *in, struct json_value *v)
{
	char copy[64];
	size_t n = 0;

	while (in->at + n < in->end && n < sizeof(copy) - 1 &&
	       strchr("+-0123456789.eE", in->at[n]) && in->at[n])
		n++;
	text_copy_n(copy, sizeof(copy), in->at, n);
	char *stop;
	v->number = strtod(copy, &stop);
	if (n == 0 || *stop || !isfinite(v->number))
		return -EBADMSG;
	v->is_integer = text_i64(copy, &v->integer) == 0;
	v->kind = JSON_KIND_NUMBER;
	in->at += n;
	return 0;
}

static int json_any(struct json_in *in, unsigned depth, struct json_value **ret);

static int json_members(struct json_in *in, unsigned depth, struct json_value *v)
{
	bool object = *in->at++ == '{';
	struct json_value **tail = &v->first, *child;
	const char *key = NULL;

	v->kind = object ? JSON_KIND_OBJECT : JSON_KIND_ARRAY;
	json_skip(in);
	if (in->at < in->end && *in->at == (object ? '}' : ']')) {
		in->at++;
		return 0;
	}
	for (;;) {
		json_skip(in);
		if (object) {
			if (in->at >= in->end || *in->at != '"' || json_string(in, &key) < 0)
				return -EBADMSG;
			json_skip(in);
			if (in->at >= in->end || *in->at++ != ':')
				return -EBADMSG;
		}
		int r = json_any(in, depth + 1, &child);
		if (r < 0)
			return r == -ENODATA ? -EBADMSG : r;
		child->key = key;
		*tail = child;
		tail = &child->next;
		json_skip(in);
		if (in->at >= in->end)
			return -EBADMSG;
		char c = *in->at++;
		if (c == (object ? '}' : ']'))
			return 0;
		if (c != ',')
			return -EBADMSG;
	}
}

static int json_word(struct json_in *in, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(in->end - in->at) < n || memcmp(in->at, word, n) != 0)
		return -EBADMSG;
	in->at += n;
	return 0;
}

static int json_any(struct json_in *in, unsigned depth, struct json_value **ret)
{
	json_skip(in);
	if (in->at >= in->end)
		return -ENODATA;
	if (depth > JSON_READ_DEPTH || ++in->values > JSON_READ_VALUES)
		return -E2BIG;
	struct json_value *v = arena_alloc(in->arena, sizeof(*v));
	if (!v)
		return -ENOMEM;
	*ret = v;
	switch (*in->at) {
	case '{':
	case '[':
		return json_members(in, depth, v);
	case '"':
		v->kind = JSON_KIND_STRING;
		return json_string(in, &v->text);
	case 't':
	case 'f':
		v->kind = JSON_KIND_BOOL;
		v->boolean = *in->at == 't';
		return json_word(in, v->boolean ? "true" : "false");
	case 'n':
		return json_word(in, "null");
	default:
		return json_number(in, v);
	}
}

int json_read(const char **p, const char *end, struct arena *arena, const struct json_value **ret)
{
	struct json_in in = { .at = *p, .end = end, .arena = arena };
	struct json_value *v;
	int r = json_any(&in, 0, &v);

	if (r < 0)
		return r;
	json_skip(&in);
	*p = in.at;
	*ret = v;
	return 0;
}

const struct json_value *json_member(const struct json_value *value, const char *key)
{
	if (!value || value->kind != JSON_KIND_OBJECT)
		return NULL;
	for (const struct json_value *v = value->first; v; v = v->next)
		if (strcmp(v->key, key) == 0)
			return v;
	return NULL;
}

static const struct json_value *json_at(const struct json_value *value, const char *path)
{
	char key[64];

	while (value && *path) {
		size_t n = strcspn(path, ".");
		if (!text_copy_n(key, sizeof(key), path, n))
			return NULL;
		value = json_member(value, key);
		path += n + (path[n] == '.');
	}
	return value;
}

const char *json_text_at(const struct json_value *value, const char *path)
{
	const struct json_value *v = json_at(value, path);
	return v && v->kind == JSON_KIND_STRING ? v->text : NULL;
}

bool json_integer_at(const struct json_value *value, const char *path, int64_t *ret)
{
	const struct json_value *v = json_at(value, path);

	if (!v || v->kind != JSON_KIND_NUMBER || !v->is_integer)
		return false;
	*ret = v->integer;
	return true;
}

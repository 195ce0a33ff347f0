/* Reading JSON that others wrote: a bounded tree in an arena. The libraries' readers share names
 * with our writer (json_object), so this one is our own: no recursion beyond JSON_READ_DEPTH, no
 * value beyond the text's length, never more than JSON_READ_VALUES values. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"

enum { JSON_READ_DEPTH = 64, JSON_READ_VALUES = 2000000 };

enum json_kind {
	JSON_KIND_NULL,
	JSON_KIND_BOOL,
	JSON_KIND_NUMBER,
	JSON_KIND_STRING,
	JSON_KIND_ARRAY,
	JSON_KIND_OBJECT,
};

struct json_value {
	enum json_kind kind;
	bool boolean;
	double number;
	int64_t integer; /* of a number without fraction that fits */
	bool is_integer;
	const char *text; /* of a string; \u0000 ends it early */
	const char *key;  /* of a member of an object */
	struct json_value *first;
	struct json_value *next; /* the next member or element */
};

/* One value at *p, which moves behind it and the white space after it (so that a stream of values
 * can be read one by one). -EBADMSG: no JSON; -E2BIG: too deep or too many values; -ENODATA:
 * nothing but white space. */
int json_read(const char **p, const char *end, struct arena *arena, const struct json_value **ret);
/* NULL when value is NULL, no object, or has no such member. */
const struct json_value *json_member(const struct json_value *value, const char *key);
/* Strings and numbers along a path "State.ExitCode"; defaults when absent or of another kind. */
const char *json_text_at(const struct json_value *value, const char *path);
bool json_integer_at(const struct json_value *value, const char *path, int64_t *ret);

/* What a client asks for, taken apart: path, parameters, and whether it may ask at all. Pure: the
 * server hands in the bytes, the fuzzer too. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum {
	HTTP_MAX_TARGET = 4096,
	HTTP_MAX_PARAMS = 24,
};

struct http_param {
	const char *key, *value; /* decoded, inside http_query.text */
};

struct http_query {
	const char *path; /* decoded, starts with '/' */
	struct http_param params[HTTP_MAX_PARAMS];
	size_t n_params;
	char text[HTTP_MAX_TARGET + 2];
};

/* target = "/path?a=b&c=d" as it stands in the request line. -EINVAL: not decodable, control bytes,
 * `..`; -E2BIG: too long or too many parameters. *ret points into itself: do not copy it. */
int http_query_parse(const char *target, struct http_query *ret, struct err *err);
/* NULL = not given; an empty value counts as not given. */
const char *http_query_get(const struct http_query *q, const char *key);
/* Absent: *ret = fallback. -EINVAL with words when it is no number or outside [least, most]. */
int http_query_u64(const struct http_query *q, const char *key, uint64_t fallback, uint64_t least,
		   uint64_t most, uint64_t *ret, struct err *err);
/* A time as every command takes it; absent: *ret = fallback. */
int http_query_time(const struct http_query *q, const char *key, uint64_t fallback_ns,
		    uint64_t now_ns, uint64_t *ret_ns, struct err *err);

/* Against DNS rebinding: the Host header must name this machine's loopback or one of `names` (a
 * comma list, NULL = none), with our port or none. */
bool http_host_allowed(const char *host, const char *names, unsigned port);
/* Origin absent (NULL) is a navigation or a tool; else it must be http://HOST. "null" is refused.
 */
bool http_origin_allowed(const char *origin, const char *host);
/* Does a header such as Accept-Encoding list the token (with q > 0)? */
bool http_accepts(const char *header, const char *token);

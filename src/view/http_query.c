#include "http_query.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "scan.h"
#include "text.h"
#include "timefmt.h"

/* Decodes [from, end) to *out, moves *out behind the NUL. Control bytes are never wanted here. */
static int decode(const char *from, const char *end, bool plus_is_blank, char **out)
{
	char *to = *out;

	for (; from < end; from++) {
		int c = (unsigned char)*from;

		if (c == '%') {
			int high = end - from > 2 ? scan_hex_digit(from[1]) : -1;
			int low = high >= 0 ? scan_hex_digit(from[2]) : -1;
			if (low < 0)
				return -EINVAL;
			c = high * 16 + low;
			from += 2;
		} else if (c == '+' && plus_is_blank) {
			c = ' ';
		}
		if (c < 0x20 || c == 0x7f)
			return -EINVAL;
		*to++ = (char)c;
	}
	*to++ = '\0';
	*out = to;
	return 0;
}

static int parse_params(const char *at, struct http_query *ret, char *out, struct err *err)
{
	while (*at) {
		const char *end = at + strcspn(at, "&");
		const char *equals = memchr(at, '=', (size_t)(end - at));
		struct http_param *p = &ret->params[ret->n_params];

		if (end > at) {
			if (ret->n_params == HTTP_MAX_PARAMS)
				return err_set(err, -E2BIG, "more than %d parameters",
					       HTTP_MAX_PARAMS);
			p->key = out;
			if (decode(at, equals ? equals : end, true, &out) < 0)
				return err_set(err, -EINVAL, "a parameter's name is not decodable");
			p->value = out;
			if (decode(equals ? equals + 1 : end, end, true, &out) < 0)
				return err_set(err, -EINVAL, "the value of '%s' is not decodable",
					       p->key);
			ret->n_params++;
		}
		at = *end ? end + 1 : end;
	}
	return 0;
}

int http_query_parse(const char *target, struct http_query *ret, struct err *err)
{
	const char *question;
	char *out = ret->text;

	ret->n_params = 0;
	/* every decoded part is at most as long as it stands, its NUL takes the place of ?, & or =;
	 * a parameter without = needs one more */
	if (strlen(target) > HTTP_MAX_TARGET - HTTP_MAX_PARAMS)
		return err_set(err, -E2BIG, "the address is longer than %d bytes",
			       HTTP_MAX_TARGET - HTTP_MAX_PARAMS);
	if (target[0] != '/')
		return err_set(err, -EINVAL, "the address does not start with /");
	question = target + strcspn(target, "?#");
	ret->path = out;
	if (decode(target, question, false, &out) < 0)
		return err_set(err, -EINVAL, "the path is not decodable");
	if (strstr(ret->path, "/.."))
		return err_set(err, -EINVAL, "the path leads upwards");
	if (*question != '?')
		return 0;
	return parse_params(question + 1, ret, out, err);
}

const char *http_query_get(const struct http_query *q, const char *key)
{
	for (size_t i = 0; i < q->n_params; i++)
		if (strcmp(q->params[i].key, key) == 0 && q->params[i].value[0])
			return q->params[i].value;
	return NULL;
}

int http_query_u64(const struct http_query *q, const char *key, uint64_t fallback, uint64_t least,
		   uint64_t most, uint64_t *ret, struct err *err)
{
	const char *text = http_query_get(q, key);
	uint64_t value;

	if (!text) {
		*ret = fallback;
		return 0;
	}
	if (text_u64(text, &value) < 0 || value < least || value > most)
		return err_set(err, -EINVAL, "%s must be a number from %" PRIu64 " to %" PRIu64,
			       key, least, most);
	*ret = value;
	return 0;
}

int http_query_time(const struct http_query *q, const char *key, uint64_t fallback_ns,
		    uint64_t now_ns, uint64_t *ret_ns, struct err *err)
{
	const char *text = http_query_get(q, key);
	uint64_t value;
	int r;

	if (!text) {
		*ret_ns = fallback_ns;
		return 0;
	}
	r = timefmt_parse(text, now_ns, &value, err);
	if (r < 0)
		return err_prefix(err, -EINVAL, "%s", key);
	*ret_ns = value;
	return 0;
}

static bool name_is(const char *host, size_t len, const char *name)
{
	return strlen(name) == len && strncasecmp(host, name, len) == 0;
}

static bool name_listed(const char *host, size_t len, const char *names)
{
	while (names && *names) {
		size_t n = strcspn(names, ",");
		if (n == len && strncasecmp(host, names, len) == 0)
			return true;
		names += names[n] ? n + 1 : n;
	}
	return false;
}

bool http_host_allowed(const char *host, const char *names, unsigned port)
{
	const char *colon;
	size_t len;
	uint64_t given;

	if (!host || !*host)
		return false;
	/* "[::1]:80" */
	colon = host[0] == '[' ? strchr(host, ']') : host;
	if (!colon)
		return false;
	colon = strchr(colon, ':');
	len = colon ? (size_t)(colon - host) : strlen(host);
	if (colon && (text_u64(colon + 1, &given) < 0 || given != port))
		return false;
	return name_is(host, len, "localhost") || name_is(host, len, "127.0.0.1") ||
	       name_is(host, len, "[::1]") || name_listed(host, len, names);
}

bool http_origin_allowed(const char *origin, const char *host)
{
	if (!origin)
		return true;
	return host && text_starts(origin, "http://") && strcasecmp(origin + 7, host) == 0;
}

bool http_accepts(const char *header, const char *token)
{
	size_t want = strlen(token);

	while (header && *header) {
		const char *end = header + strcspn(header, ",");
		const char *at = text_skip_blanks(header);
		const char *name_end = at + strcspn(at, ",; \t");

		if ((size_t)(name_end - at) == want && strncasecmp(at, token, want) == 0) {
			const char *q = strstr(name_end, "q=");
			return !(q && q < end && q[2] == '0' &&
				 strspn(q + 2, "0.") == strcspn(q + 2, ", ;\t"));
		}
		header = *end ? end + 1 : end;
	}
	return false;
}

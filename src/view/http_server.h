/* The HTTP server of `serve`: GET only, loopback unless told otherwise, Host and Origin checked,
 * strict Content-Security-Policy, ETag and gzip. What an address means is the business of a
 * handler. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"
#include "http_query.h"

struct http_request {
	const struct http_query *query;
	const char *accept; /* header, NULL = absent */
};

struct http_answer {
	unsigned status;
	const char *type; /* static; NULL = application/json */
	struct buf body;
};

/* Fill *answer. Called from several threads at once. A negative return becomes a JSON error:
 * -ENOENT 404, -EINVAL, -E2BIG and -ERANGE 400, -ENODATA 404, -EBUSY 503, -ESTALE 410, anything
 * else 500. */
typedef int (*http_handler)(void *arg, const struct http_request *request,
			    struct http_answer *answer, struct err *err);

struct http_options {
	const char *address; /* "127.0.0.1"; NULL = that */
	uint16_t port;       /* 0 = any free one */
	const char *hosts;   /* further names for the Host header, comma list */
	http_handler handler;
	void *arg;
};

struct http_server;

int http_server_start(const struct http_options *options, struct http_server **ret,
		      struct err *err);
uint16_t http_server_port(const struct http_server *s);
/* Send an event to every client of /api/v1/live: the newest is also what a new client gets first.
 */
void http_server_publish(struct http_server *s, const char *name, const char *json);
/* Ends every connection. */
void http_server_stop(struct http_server *s);

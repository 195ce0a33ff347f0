/* One HTTP request over a unix socket, with a deadline and a size limit: enough for the engines'
 * APIs. Readers only ever GET; the lab makes and removes its own containers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"

enum { HTTP_BODY_MOST = 16 << 20, HTTP_HEAD_MOST = 64 << 10 };

struct http_answer {
	int status;
	struct buf body;
};

/* Pure: the answer so far. 1 = complete (*ret filled), 0 = more is to come, negative = no HTTP.
 * ended says that the peer closed. */
int http_parse(const char *bytes, size_t len, bool ended, struct http_answer *ret);
/* socket_path is absolute. deadline_ns is CLOCK_MONOTONIC. -ETIMEDOUT: the peer did not answer in
 * time. */
int http_unix_get(const char *socket_path, const char *target, uint64_t deadline_ns,
		  struct http_answer *ret, struct err *err);
struct http_request {
	const char *method;
	const char *type; /* of the body; NULL = there is none */
	const char *body;
	size_t len;
};
int http_unix_ask(const char *socket_path, const char *target, const struct http_request *what,
		  uint64_t deadline_ns, struct http_answer *ret, struct err *err);
void http_answer_free(struct http_answer *a);

#define AUTO_HTTP_ANSWER __attribute__((cleanup(http_answer_free)))

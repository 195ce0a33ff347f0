/* libmicrohttpd, loaded when a server starts. Linked, it and the TLS libraries it brings along
 * would cost every command half of its start, and only `serve` needs it. */
#pragma once

#include <microhttpd.h>

#include "err.h"

/* What is called of it: MHD_start_daemon is library->start_daemon, of the type in its header. */
#define HTTP_LIBRARY_FUNCTIONS(X)        \
	X(add_response_header)           \
	X(create_response_from_buffer)   \
	X(create_response_from_callback) \
	X(destroy_response)              \
	X(lookup_connection_value)       \
	X(queue_response)                \
	X(resume_connection)             \
	X(start_daemon)                  \
	X(stop_daemon)                   \
	X(suspend_connection)

struct http_library {
#define HTTP_LIBRARY_MEMBER(name) __typeof__(&MHD_##name) name;
	HTTP_LIBRARY_FUNCTIONS(HTTP_LIBRARY_MEMBER)
#undef HTTP_LIBRARY_MEMBER
};

/* It stays loaded until the program ends. */
int http_library_load(struct http_library *ret, struct err *err);

/* Server-sent events: one newest message, any number of clients that wait for the next. */
#pragma once

#include "http_library.h"

struct http_live;

/* mhd must outlive it. */
struct http_live *http_live_new(const struct http_library *mhd);
/* All clients must be gone. */
void http_live_free(struct http_live *live);
/* A response that streams to this connection; NULL when too many listen already. */
struct MHD_Response *http_live_response(struct http_live *live, struct MHD_Connection *connection);
void http_live_publish(struct http_live *live, const char *name, const char *json);
/* Wake all clients so that they end. */
void http_live_close(struct http_live *live);

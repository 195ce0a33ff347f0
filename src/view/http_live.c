#include "http_live.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "buf.h"

enum {
	LIVE_MOST_CLIENTS = 64,
	LIVE_BLOCK = 4096,
};

struct live_client {
	struct http_live *live;
	struct MHD_Connection *connection;
	bool suspended;
	uint64_t seen;   /* sequence number of the last message taken */
	struct buf text; /* what is still to be sent */
	size_t text_sent;
};

struct http_live {
	const struct http_library *mhd;
	pthread_mutex_t lock;
	struct live_client *clients[LIVE_MOST_CLIENTS];
	struct buf newest;
	uint64_t sequence; /* 0 = nothing published yet */
	bool closing;
};

struct http_live *http_live_new(const struct http_library *mhd)
{
	struct http_live *live = calloc(1, sizeof(*live));

	if (live) {
		live->mhd = mhd;
		pthread_mutex_init(&live->lock, NULL);
	}
	return live;
}

void http_live_free(struct http_live *live)
{
	if (!live)
		return;
	pthread_mutex_destroy(&live->lock);
	buf_free(&live->newest);
	free(live);
}

/* Called by libmicrohttpd when it can send. Nothing to say: the connection sleeps until the next
 * publish wakes it, so that a silent client costs nothing. */
static ssize_t live_read(void *cls, uint64_t pos, char *out, size_t max)
{
	struct live_client *c = cls;
	struct http_live *live = c->live;
	ssize_t n = 0;

	(void)pos;
	pthread_mutex_lock(&live->lock);
	if (c->text_sent == c->text.len && c->seen < live->sequence) {
		buf_clear(&c->text);
		c->text_sent = 0;
		buf_add(&c->text, live->newest.data, live->newest.len);
		c->seen = live->sequence;
	}
	if (live->closing) {
		n = MHD_CONTENT_READER_END_OF_STREAM;
	} else if (c->text_sent < c->text.len) {
		n = (ssize_t)MIN_OF(max, c->text.len - c->text_sent);
		memcpy(out, c->text.data + c->text_sent, (size_t)n);
		c->text_sent += (size_t)n;
	} else {
		c->suspended = true;
		live->mhd->suspend_connection(c->connection);
	}
	pthread_mutex_unlock(&live->lock);
	return n;
}

static void live_client_free(void *cls)
{
	struct live_client *c = cls;
	struct http_live *live = c->live;

	pthread_mutex_lock(&live->lock);
	for (size_t i = 0; i < LIVE_MOST_CLIENTS; i++)
		if (live->clients[i] == c)
			live->clients[i] = NULL;
	pthread_mutex_unlock(&live->lock);
	buf_free(&c->text);
	free(c);
}

struct MHD_Response *http_live_response(struct http_live *live, struct MHD_Connection *connection)
{
	struct MHD_Response *response = NULL;
	struct live_client *c = calloc(1, sizeof(*c));
	size_t slot = 0;

	if (!c)
		return NULL;
	c->live = live;
	c->connection = connection;
	buf_add_str(&c->text, "retry: 2000\n\n");
	pthread_mutex_lock(&live->lock);
	while (slot < LIVE_MOST_CLIENTS && live->clients[slot])
		slot++;
	if (slot < LIVE_MOST_CLIENTS && !live->closing)
		live->clients[slot] = c;
	else
		slot = LIVE_MOST_CLIENTS;
	pthread_mutex_unlock(&live->lock);
	if (slot < LIVE_MOST_CLIENTS)
		response = live->mhd->create_response_from_callback(MHD_SIZE_UNKNOWN, LIVE_BLOCK,
								    live_read, c, live_client_free);
	if (!response)
		live_client_free(c);
	return response;
}

static void live_wake(struct http_live *live)
{
	for (size_t i = 0; i < LIVE_MOST_CLIENTS; i++) {
		struct live_client *c = live->clients[i];
		if (c && c->suspended) {
			c->suspended = false;
			live->mhd->resume_connection(c->connection);
		}
	}
}

void http_live_publish(struct http_live *live, const char *name, const char *json)
{
	pthread_mutex_lock(&live->lock);
	buf_clear(&live->newest);
	buf_addf(&live->newest, "event: %s\ndata: %s\n\n", name, json);
	live->sequence++;
	live_wake(live);
	pthread_mutex_unlock(&live->lock);
}

void http_live_close(struct http_live *live)
{
	pthread_mutex_lock(&live->lock);
	live->closing = true;
	live_wake(live);
	pthread_mutex_unlock(&live->lock);
}

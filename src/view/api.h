/* /api/v1 and /metrics over one store: a follower thread keeps the recording's shape in memory and
 * tells live clients of every new second; deeper questions (heat, flame, diff, why) read the store
 * when they are asked. Needs no privilege but to read the store.
 *
 * To add an endpoint: a function in an api_*.c file and a row in the table of api.c; docs/API.md
 * tells what it answers. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "arena.h"
#include "envelope.h"
#include "http_server.h"
#include "rec_event.h"
#include "store_reader.h"
#include "stream.h"
#include "timeline.h"
#include "totals.h"

enum {
	API_MOST_EVENTS = 20000, /* kept in memory; older ones are dropped from the page */
	API_MOST_DEEP = 2,       /* questions that read the store at the same time */
};

struct api {
	char store[4096];
	struct envelope envelope;
	pthread_mutex_t lock; /* over everything below */
	pthread_cond_t wake;
	pthread_t thread;
	bool running, stopping, loaded;
	struct http_server *server; /* may be NULL */
	struct timeline timeline;
	struct totals totals;
	struct arena event_text;
	VEC(struct rec_event) events; /* by time */
	uint64_t dropped_events;
	struct tick last; /* newest reading */
	uint64_t from_ns, to_ns;
	bool empty, profile;
	struct err gone; /* code != 0: the store cannot be read just now */
	VEC(struct store_loss) losses;
	unsigned deep;
	struct buf census;     /* the newest FRAME_CENSUS */
	struct buf metrics[2]; /* plain, OpenMetrics: as of metrics_at */
	uint64_t metrics_at;
};

/* Starts the follower. Calls api_server when the server exists, so that it hears of new seconds. */
int api_open(const char *store, struct api **ret, struct err *err);
void api_server(struct api *api, struct http_server *server);
void api_close(struct api *api);
/* Read everything there is now, in the calling thread: `metrics` and `report` without a server. */
int api_open_once(const char *store, struct api **ret, struct err *err);

/* The http_handler. */
int api_handle(void *arg, const struct http_request *request, struct http_answer *answer,
	       struct err *err);
/* The same for an address given as text ("overview?points=400"), for the report. */
int api_ask(struct api *api, const char *target, struct buf *out, struct err *err);

/* For the endpoints: */
struct api_window {
	uint64_t from_ns, to_ns;
};

/* from and to of the query, else the whole recording; -ENODATA when nothing of it was recorded. */
int api_window(struct api *api, const struct http_query *q, struct api_window *ret,
	       struct err *err);
/* The grid of a picture: whole seconds, at most `most` steps of the same length. */
void api_grid(const struct api_window *w, uint64_t most, uint64_t *ret_from_s, uint64_t *ret_step_s,
	      size_t *ret_n);
/* Opens the top-level object with schema, host, time and kernel. */
void api_begin(struct api *api, struct json *j, struct buf *out, const char *command);
void api_end(struct json *j);
/* A place among the questions that read the store: few at a time, so that memory is bounded. -EBUSY
 * when it takes too long to get one. */
int api_deep(struct api *api, struct err *err);
void api_deep_end(struct api *api);
/* A place and a reader, or a stream, of one's own; close it with its _close. -ESTALE when the store
 * is gone. */
int api_reader(struct api *api, struct store_reader **ret, struct err *err);
void api_reader_close(struct api *api, struct store_reader *r);
int api_stream(struct api *api, struct stream **ret, struct err *err);
void api_stream_close(struct api *api, struct stream *s);

int api_status(struct api *api, const struct http_request *q, struct http_answer *a,
	       struct err *err);
int api_overview(struct api *api, const struct http_request *q, struct http_answer *a,
		 struct err *err);
int api_cores(struct api *api, const struct http_request *q, struct http_answer *a,
	      struct err *err);
int api_events(struct api *api, const struct http_request *q, struct http_answer *a,
	       struct err *err);
int api_heat(struct api *api, const struct http_request *q, struct http_answer *a, struct err *err);
int api_diff(struct api *api, const struct http_request *q, struct http_answer *a, struct err *err);
int api_flame(struct api *api, const struct http_request *q, struct http_answer *a,
	      struct err *err);
int api_cores_at(struct api *api, const struct http_request *q, struct http_answer *a,
		 struct err *err);
int api_zombies(struct api *api, const struct http_request *q, struct http_answer *a,
		struct err *err);
int api_zombies_now(struct api *api, const struct http_request *q, struct http_answer *a,
		    struct err *err);
int api_resets(struct api *api, const struct http_request *q, struct http_answer *a,
	       struct err *err);
int api_why(struct api *api, const struct http_request *q, struct http_answer *a, struct err *err);
int api_units(struct api *api, const struct http_request *q, struct http_answer *a,
	      struct err *err);
int api_metrics(struct api *api, const struct http_request *q, struct http_answer *a,
		struct err *err);
/* The same numbers: "metrics": [...] */
void api_metrics_json(struct api *api, struct json *j);

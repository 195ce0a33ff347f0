/* A stream of container events from an engine that stays open: bytes come in as they like, whole
 * events come out. Costs nothing while nothing happens. */
#pragma once

#include "buf.h"
#include "docker_api.h"

struct docker_follow {
	int fd; /* -1 = not connected */
	struct docker_socket socket;
	struct buf raw;  /* received, not yet decoded */
	struct buf line; /* decoded, not yet a whole line */
	bool in_body;
};

typedef void (*docker_follow_fn)(void *arg, const struct rec_container_event *event);

/* Connect and ask; the answer comes by docker_follow_ready. */
int docker_follow_open(struct docker_follow *f, const struct docker_socket *socket,
		       struct err *err);
/* Read what is there; -ENOTCONN when the engine closed or sent no HTTP: close it and try again
 * later. */
int docker_follow_ready(struct docker_follow *f, docker_follow_fn each, void *arg);
void docker_follow_close(struct docker_follow *f);
/* Pure: decode bytes that were appended to raw. */
int docker_follow_feed(struct docker_follow *f, const void *bytes, size_t len,
		       docker_follow_fn each, void *arg);

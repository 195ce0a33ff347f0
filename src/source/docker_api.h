/* Containers as Docker's Engine API, podman's compatible API and containerd's task directories tell
 * them. No client program is run. Parsing is pure; reading has a limit of 2 s in all. */
#pragma once

#include "json_read.h"
#include "rec_units.h"
#include "root.h"

/* Pure: the bodies of /containers/json, /containers/ID/json and /events (a stream of objects). */
int docker_parse_list(const char *text, size_t len, const char *runtime, struct rec_unit_set *set,
		      struct err *err);
int docker_parse_inspect(const char *text, size_t len, struct rec_unit_set *set, struct err *err);
int docker_parse_events(const char *text, size_t len, const char *runtime, struct rec_unit_set *set,
			struct err *err);
/* One event object; -ENODATA when it is of another kind. Strings go into the arena. */
int docker_parse_event(const char *text, size_t len, const char *runtime, struct arena *arena,
		       struct rec_container_event *ret);
/* Pure: config.json of a containerd task. */
int containerd_parse_config(const char *text, size_t len, const char *ns, const char *id,
			    struct rec_unit_set *set, struct err *err);

/* Where the engines listen: DOCKER_HOST=unix://..., podman's CONTAINER_HOST, else the usual places.
 */
struct docker_socket {
	const char *runtime;
	char path[108];
};
/* Where containerd keeps its tasks, whoever asked for them. */
#define CONTAINERD_TASKS "run/containerd/io.containerd.runtime.v2.task"
/* At most 3; returns the number of sockets that exist. */
size_t docker_sockets(struct docker_socket ret[3]);
/* Everything that is there, into *set; an engine that does not answer is named in set->unknowns and
 * costs at most 2 s. Live host only. */
void docker_read(const struct root *root, struct rec_unit_set *set);
/* The target of a stream of new events. Podman filters by its own names: died and remove. */
#define DOCKER_EVENTS_FOLLOW                                                                       \
	"/events?filters=%7B%22type%22%3A%5B%22container%22%5D%2C%22event%22%3A%5B%22create%22%2C" \
	"%22die%22%2C%22died%22%2C%22destroy%22%2C%22remove%22%2C%22oom%22%5D%7D"

#include "docker_api.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "auto.h"
#include "http_unix.h"
#include "text.h"
#include "timefmt.h"

enum {
	DOCKER_CONTAINERS_MOST = 20000,
	DOCKER_EVENTS_MOST = 20000,
	DOCKER_INSPECT_MOST = 64, /* of those that died, and of the others: one request each */
	DOCKER_LIMIT_S = 2,
	CONTAINERD_CONFIG_CAP = 1 << 20,
};

static const char *docker_dup(struct rec_unit_set *set, const char *text)
{
	return text ? arena_strdup(&set->arena, text) : NULL;
}

static const char *docker_label(const struct json_value *labels, const char *key)
{
	const struct json_value *v = json_member(labels, key);
	return v && v->kind == JSON_KIND_STRING ? v->text : NULL;
}

static void docker_labels(struct rec_unit_set *set, const struct json_value *labels,
			  struct rec_container *c)
{
	const char *task = docker_label(labels, "com.amazonaws.ecs.task-arn");
	const char *pod = docker_label(labels, "io.kubernetes.pod.name");
	const char *ns = docker_label(labels, "io.kubernetes.pod.namespace");
	const char *compose = docker_label(labels, "com.docker.compose.project");

	c->unit_label = docker_dup(set, docker_label(labels, "PODMAN_SYSTEMD_UNIT"));
	if (task)
		c->owner_label = arena_printf(&set->arena, "ECS task %s", task);
	else if (pod)
		c->owner_label = arena_printf(&set->arena, "pod %s/%s", ns ? ns : "?", pod);
	else if (compose)
		c->owner_label = arena_printf(&set->arena, "compose project %s", compose);
}

int docker_parse_list(const char *text, size_t len, const char *runtime, struct rec_unit_set *set,
		      struct err *err)
{
	AUTO_ARENA struct arena scratch = { 0 };
	const struct json_value *list;
	const char *p = text;

	if (json_read(&p, text + len, &scratch, &list) < 0 || list->kind != JSON_KIND_ARRAY)
		return err_set(err, -EBADMSG, "%s: the list of containers is no JSON array",
			       runtime);
	for (const struct json_value *v = list->first; v; v = v->next) {
		const struct json_value *names = json_member(v, "Names");
		const char *id = json_text_at(v, "Id"), *name = NULL;
		int64_t created = 0;
		if (names && names->kind == JSON_KIND_ARRAY && names->first &&
		    names->first->kind == JSON_KIND_STRING)
			name = names->first->text + (*names->first->text == '/');
		if (!id || set->containers.len >= DOCKER_CONTAINERS_MOST)
			continue;
		json_integer_at(v, "Created", &created);
		struct rec_container c = {
			.runtime = runtime,
			.id = docker_dup(set, id),
			.name = docker_dup(set, name),
			.image = docker_dup(set, json_text_at(v, "Image")),
			.state = docker_dup(set, json_text_at(v, "State")),
			.created_ns = created > 0 ? (uint64_t)created * NS_PER_S : 0,
			.exit_code = -1,
			.restart_count = -1,
		};
		docker_labels(set, json_member(v, "Labels"), &c);
		if (!c.id || !vec_push(&set->containers, c))
			return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

int docker_parse_inspect(const char *text, size_t len, struct rec_unit_set *set, struct err *err)
{
	AUTO_ARENA struct arena scratch = { 0 };
	const struct json_value *v;
	const char *p = text, *id;
	int64_t n;

	if (json_read(&p, text + len, &scratch, &v) < 0 || !(id = json_text_at(v, "Id")))
		return err_set(err, -EBADMSG, "the engine's answer describes no container");
	vec_foreach (&set->containers, c) {
		if (strcmp(c->id, id) != 0)
			continue;
		if (json_integer_at(v, "RestartCount", &n))
			c->restart_count = n;
		if (json_integer_at(v, "State.ExitCode", &n))
			c->exit_code = n;
		if (json_integer_at(v, "State.Pid", &n) && n > 0)
			c->pid = (uint64_t)n;
		c->cgroup_parent = docker_dup(set, json_text_at(v, "HostConfig.CgroupParent"));
		const char *started = json_text_at(v, "State.StartedAt");
		uint64_t ns;
		if (started && !text_starts(started, "0001-") &&
		    timefmt_parse(started, 0, &ns, NULL) == 0)
			c->started_ns = ns;
	}
	return 0;
}

static int docker_event(const struct json_value *v, const char *runtime, struct arena *arena,
			struct rec_container_event *ret)
{
	const char *type = json_text_at(v, "Type"), *action = json_text_at(v, "Action");
	struct rec_container_event e = { .runtime = runtime, .exit_code = -1 };
	int64_t n;

	if (!action)
		action = json_text_at(v, "status");
	if ((type && strcmp(type, "container") != 0) || !action ||
	    rec_container_action_parse(action, &e.action) < 0)
		return -ENODATA;
	if (json_integer_at(v, "timeNano", &n) && n > 0)
		e.time_ns = (uint64_t)n;
	else if (json_integer_at(v, "time", &n) && n > 0)
		e.time_ns = (uint64_t)n * NS_PER_S;
	const struct json_value *attributes = json_member(json_member(v, "Actor"), "Attributes");
	const char *id = json_text_at(v, "Actor.ID"), *exit = docker_label(attributes, "exitCode");
	const char *name = docker_label(attributes, "name"),
		   *image = docker_label(attributes, "image");
	if (!exit)
		exit = docker_label(attributes, "containerExitCode");
	if (exit)
		(void)text_i64(exit, &e.exit_code);
	e.id = id ? arena_strdup(arena, id) : NULL;
	e.name = name ? arena_strdup(arena, name) : NULL;
	e.image = image ? arena_strdup(arena, image) : NULL;
	if (!e.id || !e.time_ns)
		return -ENODATA;
	*ret = e;
	return 0;
}

int docker_parse_event(const char *text, size_t len, const char *runtime, struct arena *arena,
		       struct rec_container_event *ret)
{
	AUTO_ARENA struct arena scratch = { 0 };
	const struct json_value *v;
	const char *p = text;

	if (json_read(&p, text + len, &scratch, &v) < 0)
		return -EBADMSG;
	return docker_event(v, runtime, arena, ret);
}

static int docker_event_compare(const void *a, const void *b)
{
	uint64_t x = ((const struct rec_container_event *)a)->time_ns;
	uint64_t y = ((const struct rec_container_event *)b)->time_ns;

	return x < y ? -1 : x > y;
}

int docker_parse_events(const char *text, size_t len, const char *runtime, struct rec_unit_set *set,
			struct err *err)
{
	const char *p = text, *end = text + len;
	int r = 0;

	while (p < end && set->events.len < DOCKER_EVENTS_MOST) {
		AUTO_ARENA struct arena scratch = { 0 };
		const struct json_value *v;
		struct rec_container_event e;
		r = json_read(&p, end, &scratch, &v);
		if (r < 0)
			break;
		if (docker_event(v, runtime, &set->arena, &e) == 0 && !vec_push(&set->events, e))
			return err_set(err, -ENOMEM, "out of memory");
	}
	vec_sort(&set->events, docker_event_compare);
	if (r < 0 && r != -ENODATA)
		return err_set(err, r, "%s: its events are no JSON after byte %zd", runtime,
			       p - text);
	return 0;
}

int containerd_parse_config(const char *text, size_t len, const char *ns, const char *id,
			    struct rec_unit_set *set, struct err *err)
{
	AUTO_ARENA struct arena scratch = { 0 };
	const struct json_value *v;
	const char *p = text;

	if (json_read(&p, text + len, &scratch, &v) < 0)
		return err_set(err, -EBADMSG, "containerd task %s: config.json is no JSON", id);
	const struct json_value *notes = json_member(v, "annotations");
	const char *pod = docker_label(notes, "io.kubernetes.cri.sandbox-name");
	const char *pod_ns = docker_label(notes, "io.kubernetes.cri.sandbox-namespace");
	const char *name = docker_label(notes, "io.kubernetes.cri.container-name");
	struct rec_container c = {
		.runtime = "containerd",
		.id = docker_dup(set, id),
		.name = docker_dup(set, name ? name : id),
		.image = docker_dup(set, docker_label(notes, "io.kubernetes.cri.image-name")),
		.state = arena_printf(&set->arena, "task in %s", ns),
		.cgroup_parent = docker_dup(set, json_text_at(v, "linux.cgroupsPath")),
		.exit_code = -1,
		.restart_count = -1,
	};
	if (pod)
		c.owner_label = arena_printf(&set->arena, "pod %s/%s", pod_ns ? pod_ns : "?", pod);
	if (!c.id || !vec_push(&set->containers, c))
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

size_t docker_sockets(struct docker_socket ret[3])
{
	const char *host = getenv("DOCKER_HOST"), *podman = getenv("CONTAINER_HOST");
	const struct {
		const char *runtime, *path;
	} places[] = {
		{ "docker", host && text_starts(host, "unix://") ? host + 7 : "/run/docker.sock" },
		{ "podman", podman && text_starts(podman, "unix://") ? podman + 7
								     : "/run/podman/podman.sock" },
	};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		struct stat st;
		if (stat(places[i].path, &st) < 0 || !S_ISSOCK(st.st_mode))
			continue;
		ret[n].runtime = places[i].runtime;
		if (text_copy(ret[n].path, sizeof(ret[n].path), places[i].path))
			n++;
	}
	return n;
}

static int docker_get(const struct docker_socket *s, const char *target, uint64_t deadline_ns,
		      struct http_answer *ret, struct err *err)
{
	int r = http_unix_get(s->path, target, deadline_ns, ret, err);

	if (r == 0 && ret->status != 200)
		r = err_set(err, -EIO, "%s: answered %d to %.60s", s->path, ret->status, target);
	return r;
}

/* Died and is still listed, or waits for its restart: the restart counter says more. */
static bool docker_is_suspect(const struct rec_unit_set *set, const struct rec_container *c)
{
	if (c->state && strcmp(c->state, "restarting") == 0)
		return true;
	vec_foreach (&set->events, e)
		if (e->action == CONTAINER_DIE && strcmp(e->id, c->id) == 0)
			return true;
	return false;
}

/* Of the suspects, or of the others: the youngest, which the engine lists first. */
static int docker_inspect_some(const struct docker_socket *s, struct rec_unit_set *set,
			       size_t first, bool suspects, uint64_t deadline_ns, struct err *err)
{
	AUTO_HTTP_ANSWER struct http_answer answer = { 0 };
	char target[300];
	unsigned asked = 0;

	for (size_t i = first; i < set->containers.len && asked < DOCKER_INSPECT_MOST; i++) {
		const struct rec_container *c = &set->containers.items[i];
		if (strlen(c->id) > 128 || docker_is_suspect(set, c) != suspects)
			continue;
		asked++;
		snprintf(target, sizeof(target), "/containers/%s/json", c->id);
		int r = docker_get(s, target, deadline_ns, &answer, err);
		if (r == 0)
			(void)docker_parse_inspect(buf_str(&answer.body), answer.body.len, set,
						   NULL);
		else if (r != -EIO) /* 404: it went away meanwhile */
			return r;
	}
	return 0;
}

/* Also behind docker's own address: the package podman-docker puts it there. */
static bool docker_is_podman(const struct docker_socket *s, uint64_t deadline_ns)
{
	AUTO_HTTP_ANSWER struct http_answer answer = { 0 };

	return strcmp(s->runtime, "podman") == 0 ||
	       (docker_get(s, "/version", deadline_ns, &answer, NULL) == 0 &&
		strstr(buf_str(&answer.body), "\"Podman Engine\""));
}

/* What the engine remembers. Docker: `until` in the past ends the stream at once, after the last
 * 256 events. Podman replays nothing then, but knows how not to stream. */
static int docker_read_events(const struct docker_socket *s, bool podman, struct rec_unit_set *set,
			      uint64_t deadline_ns, struct err *err)
{
	AUTO_HTTP_ANSWER struct http_answer answer = { 0 };
	uint64_t now_ns = clock_real_ns();
	char target[300];

	if (podman)
		snprintf(target, sizeof(target), "%s&since=0&stream=false", DOCKER_EVENTS_FOLLOW);
	else
		snprintf(target, sizeof(target), "%s&since=0&until=%" PRIu64 ".%09" PRIu64,
			 DOCKER_EVENTS_FOLLOW, now_ns / NS_PER_S, now_ns % NS_PER_S);
	int r = docker_get(s, target, deadline_ns, &answer, err);
	return r < 0 ? r
		     : docker_parse_events(buf_str(&answer.body), answer.body.len, s->runtime, set,
					   err);
}

static int docker_read_engine(const struct docker_socket *s, struct rec_unit_set *set,
			      struct err *err)
{
	uint64_t deadline_ns = clock_mono_ns() + DOCKER_LIMIT_S * NS_PER_S;
	AUTO_HTTP_ANSWER struct http_answer answer = { 0 };
	size_t first = set->containers.len;
	int r = docker_get(s, "/containers/json?all=1", deadline_ns, &answer, err);

	if (r == 0)
		r = docker_parse_list(buf_str(&answer.body), answer.body.len, s->runtime, set, err);
	if (r < 0)
		return r;
	set->have_containers = true;
	r = docker_read_events(s, docker_is_podman(s, deadline_ns), set, deadline_ns, err);
	for (int suspects = 1; r == 0 && suspects >= 0; suspects--)
		r = docker_inspect_some(s, set, first, suspects, deadline_ns, err);
	return r;
}

struct containerd_walk {
	const struct root *root;
	struct rec_unit_set *set;
	const char *ns;
};

static int containerd_each_task(void *arg, const char *name, unsigned char type)
{
	struct containerd_walk *w = arg;
	AUTO_BUF struct buf text = { 0 };
	char path[700];

	(void)type;
	snprintf(path, sizeof(path), CONTAINERD_TASKS "/%s/%s/config.json", w->ns, name);
	size_t before = w->set->containers.len;
	struct stat st;
	if (before < DOCKER_CONTAINERS_MOST &&
	    root_read(w->root, path, CONTAINERD_CONFIG_CAP, &text, NULL) == 0)
		(void)containerd_parse_config(buf_str(&text), text.len, w->ns, name, w->set, NULL);
	/* written once, when the task is made */
	if (w->set->containers.len > before && root_lstat(w->root, path, &st, NULL) == 0)
		w->set->containers.items[before].created_ns =
			(uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
	return 0;
}

static int containerd_each_ns(void *arg, const char *name, unsigned char type)
{
	struct containerd_walk *w = arg;
	char path[400];

	(void)type;
	if (strcmp(name, "moby") == 0)
		return 0; /* docker's own: told by its API */
	w->ns = name;
	snprintf(path, sizeof(path), CONTAINERD_TASKS "/%s", name);
	(void)root_list(w->root, path, containerd_each_task, w, NULL);
	w->set->have_containers = true;
	return 0;
}

void docker_read(const struct root *root, struct rec_unit_set *set)
{
	struct docker_socket sockets[3];
	size_t n = root->live ? docker_sockets(sockets) : 0;
	struct containerd_walk walk = { .root = root, .set = set };

	for (size_t i = 0; i < n; i++) {
		struct err err = { 0 };
		if (docker_read_engine(&sockets[i], set, &err) < 0)
			unknowns_add(&set->unknowns, sockets[i].runtime, "%s", err.text);
	}
	(void)root_list(root, CONTAINERD_TASKS, containerd_each_ns, &walk, NULL);
	if (!set->have_containers && n == 0)
		unknowns_add(&set->unknowns, "containers",
			     "no engine listens here (docker, podman) "
			     "and containerd has no tasks");
}

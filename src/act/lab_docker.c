#include "lab_docker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "docker_api.h"
#include "http_unix.h"
#include "json.h"
#include "timefmt.h"

/* An engine on a loaded machine takes its time; the run's own deadline ends it anyway. */
#define LAB_DOCKER_LIMIT_NS (60 * NS_PER_S)

bool lab_docker_socket(char ret[108])
{
	struct docker_socket sockets[3];
	size_t n = docker_sockets(sockets);

	for (size_t i = 0; i < n; i++)
		if (strcmp(sockets[i].runtime, "docker") == 0) {
			snprintf(ret, 108, "%s", sockets[i].path);
			return true;
		}
	return false;
}

/* fine: another status that is as good as success. */
static int lab_docker_ask(const char *socket, const char *method, const char *target,
			  const char *type, const struct buf *body, int fine, struct err *err)
{
	AUTO_HTTP_ANSWER struct http_answer answer = { 0 };
	struct http_request request = { .method = method, .type = type };

	if (body) {
		request.body = body->data;
		request.len = body->len;
	}
	int r = http_unix_ask(socket, target, &request, clock_mono_ns() + LAB_DOCKER_LIMIT_NS,
			      &answer, err);
	if (r < 0)
		return r;
	if ((answer.status < 200 || answer.status > 299) && answer.status != fine)
		return err_set(err, -EIO, "%s: answered %d to %s %.60s: %.120s", socket,
			       answer.status, method, target, buf_str(&answer.body));
	return 0;
}

static int lab_docker_journal(struct lab_run *run, const char *socket, enum lab_trace trace,
			      struct err *err)
{
	char value[LAB_VALUE_MAX];

	snprintf(value, sizeof(value), "%s/zscope-lab-%s", socket, run->id);
	return lab_journal_add(run->journal, trace, value, err);
}

int lab_docker_note(struct lab_run *run, const char *socket, struct err *err)
{
	int r = lab_docker_journal(run, socket, LAB_TRACE_IMAGE, err);

	/* one name for all containers of the run: it stands in the journal before the first */
	return r < 0 ? r : lab_docker_journal(run, socket, LAB_TRACE_CONTAINER, err);
}

int lab_docker_image(struct lab_run *run, const char *socket, struct err *err)
{
	/* the end of a tar archive: an image without files */
	static char end[1024];
	const struct buf empty = { .data = end, .len = sizeof(end) };
	char target[160];
	int r = lab_docker_note(run, socket, err);

	snprintf(target, sizeof(target), "/images/create?fromSrc=-&repo=zscope-lab-%s", run->id);
	return r < 0 ? r
		     : lab_docker_ask(socket, "POST", target, "application/x-tar", &empty, 0, err);
}

static void lab_docker_describe(struct lab_run *run, uint64_t i, struct buf *out)
{
	static const char *const bound[] = { "/bin", "/lib", "/lib64", "/usr" };
	char text[400];
	struct json j;

	json_init(&j, out);
	snprintf(text, sizeof(text), "zscope-lab-%s", run->id);
	json_object(&j, NULL);
	json_str(&j, "Image", text);
	json_array(&j, "Cmd");
	json_str(&j, NULL, "/bin/sh");
	json_str(&j, NULL, "-c");
	snprintf(text, sizeof(text),
		 "head -c %" PRIu64 " /dev/zero >/left/turn-%" PRIu64 "; exit 1",
		 run->options.size_bytes, i);
	json_str(&j, NULL, text);
	json_end_array(&j);
	json_object(&j, "HostConfig");
	json_str(&j, "NetworkMode", "none");
	json_array(&j, "Binds");
	for (size_t k = 0; k < ARRAY_LEN(bound); k++) {
		snprintf(text, sizeof(text), "%s:%s:ro", bound[k], bound[k]);
		if (access(bound[k], F_OK) == 0)
			json_str(&j, NULL, text);
	}
	snprintf(text, sizeof(text), "%s:/left", run->scratch_dir);
	json_str(&j, NULL, text);
	json_end_array(&j);
	json_end_object(&j);
	json_end_object(&j);
}

static int lab_docker_drop(const char *socket, const char *name, struct err *err)
{
	char target[200];

	snprintf(target, sizeof(target), "/containers/%s?force=1&v=1", name);
	return lab_docker_ask(socket, "DELETE", target, NULL, NULL, 404, err);
}

int lab_docker_turn(struct lab_run *run, const char *socket, uint64_t i, struct err *err)
{
	AUTO_BUF struct buf body = { 0 };
	char name[64], target[200];

	snprintf(name, sizeof(name), "zscope-lab-%s", run->id);
	int r = lab_docker_drop(socket, name, err);
	lab_docker_describe(run, i, &body);
	snprintf(target, sizeof(target), "/containers/create?name=%s", name);
	if (r == 0)
		r = lab_docker_ask(socket, "POST", target, "application/json", &body, 0, err);
	snprintf(target, sizeof(target), "/containers/%s/start", name);
	if (r == 0)
		r = lab_docker_ask(socket, "POST", target, NULL, NULL, 0, err);
	snprintf(target, sizeof(target), "/containers/%s/wait", name);
	if (r == 0)
		r = lab_docker_ask(socket, "POST", target, NULL, NULL, 0, err);
	return r;
}

int lab_docker_remove(const char *trace, bool image, struct err *err)
{
	const char *slash = strrchr(trace, '/');
	char socket[LAB_VALUE_MAX], target[LAB_VALUE_MAX + 40];

	snprintf(socket, sizeof(socket), "%.*s", (int)(slash - trace), trace);
	if (access(socket, F_OK) < 0)
		return 0; /* the engine is gone, and with it what it kept running */
	if (!image)
		return lab_docker_drop(socket, slash + 1, err);
	snprintf(target, sizeof(target), "/images/%s?force=1", slash + 1);
	return lab_docker_ask(socket, "DELETE", target, NULL, NULL, 404, err);
}

/* A supervisor that looks healthy while it makes one container after the other: each gets a new id,
 * hence a new cgroup below docker/, writes a file and dies, as ecs-init and its agent do. Through
 * dockerd where it listens, else the cgroups are made without an engine. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "lab_docker.h"
#include "lab_loop.h"
#include "lab_scenarios.h"
#include "timefmt.h"

static void container_name(char *ret, size_t size, uint64_t i)
{
	uint64_t id[4] = { i, i, i, i };

	if (getrandom(id, sizeof(id), GRND_NONBLOCK) != (ssize_t)sizeof(id))
		id[3] = clock_mono_ns();
	snprintf(ret, size, "docker/%016" PRIx64 "%016" PRIx64 "%016" PRIx64 "%016" PRIx64, id[0],
		 id[1], id[2], id[3]);
}

static int container_supervise(struct lab_run *run, void *arg)
{
	const char *socket = arg;
	struct err err = { 0 };
	uint64_t next_ns = clock_mono_ns();

	for (uint64_t i = 0; i < run->options.count && clock_mono_ns() < run->deadline_ns; i++) {
		int r = lab_docker_turn(run, socket, i, &err);
		if (r < 0) {
			lab_say(run, "%s", err.text);
			return r;
		}
		lab_loop_pause(&next_ns, run->options.interval_ns);
	}
	return 0;
}

static int container_run_docker(struct lab_run *run, const char *socket, struct err *err)
{
	int r = lab_make_scratch(run, err);

	if (r == 0)
		r = lab_docker_image(run, socket, err);
	if (r < 0)
		return r;
	pid_t pid = lab_make_child(run, container_supervise, (void *)socket, err);
	if (pid < 0)
		return pid;
	lab_say(run,
		"process %d makes container zscope-lab-%s anew every %llu ms through %s; each "
		"leaves a zombie",
		(int)pid, run->id, (unsigned long long)(run->options.interval_ns / NS_PER_MS),
		socket);
	return run->options.keep ? 0 : lab_wait_child(run, pid, err);
}

static int container_run(struct lab_run *run, struct err *err)
{
	static const struct lab_loop loop = { .name = container_name, .exit_code = 1 };
	char socket[108];
	bool want = strcmp(run->options.mode, "docker") == 0;
	bool have = strcmp(run->options.mode, "process") != 0 && lab_docker_socket(socket);

	if (want && !have)
		return err_set(err, -ENOENT, "no dockerd listens here (DOCKER_HOST)");
	return have ? container_run_docker(run, socket, err) : lab_loop_run(run, &loop, err);
}

const struct lab_scenario lab_container_loop = {
	.name = "container-loop",
	.summary = "a supervisor that recreates its container for ever, each in a new cgroup",
	.modes = "auto|docker|process",
	.defaults = { .count = 1000,
		      .length_ns = 60 * NS_PER_S,
		      .size_bytes = 4096,
		      .interval_ns = NS_PER_S,
		      .mode = "auto" },
	.most_count = 100000,
	.most_size_bytes = 1 << 20,
	.most_ns = 3600 * NS_PER_S,
	.run = container_run,
};

/* A supervisor that looks healthy while it makes one container after the other: each gets a new id,
 * hence a new cgroup below docker/, writes a file and dies, as ecs-init and its agent do. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>

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

static int container_run(struct lab_run *run, struct err *err)
{
	static const struct lab_loop loop = { .name = container_name, .exit_code = 1 };

	return lab_loop_run(run, &loop, err);
}

const struct lab_scenario lab_container_loop = {
	.name = "container-loop",
	.summary = "a supervisor that recreates its container for ever, each in a new cgroup",
	.defaults = { .count = 1000,
		      .length_ns = 60 * NS_PER_S,
		      .size_bytes = 4096,
		      .interval_ns = NS_PER_S },
	.most_count = 100000,
	.most_size_bytes = 1 << 20,
	.most_ns = 3600 * NS_PER_S,
	.run = container_run,
};

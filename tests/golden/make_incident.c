/* What a capture of the original incident's host holds beside plain files: the states of its units
 * and containers, and the census of its zombies.
 *
 *   make-incident ROOT: writes ROOT/.zscope/units and ROOT/.zscope/census. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "buf.h"
#include "census_summary.h"
#include "rec_units.h"

#define NOW (UINT64_C(1770000001) * 1000000000) /* as make_hosts.py has it */
#define S   UINT64_C(1000000000)

enum { DOCKER_ZOMBIES = 68102, OTHER_ZOMBIES = 338, EVENTS = 40 };

static int write_file(const char *root, const char *name, const struct buf *data)
{
	char path[500];

	snprintf(path, sizeof(path), "%s/.zscope/%s", root, name);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	return fd >= 0 && !data->failed && write(fd, data->data, data->len) == (ssize_t)data->len
		       ? 0
		       : -1;
}

static void add_zombies(struct census_summary *s, const char *format, unsigned n)
{
	char path[200];

	for (unsigned i = 0; i < n; i++) {
		snprintf(path, sizeof(path), format, (unsigned long)i);
		struct zombie z = {
			.id = i + 1, .path = path, .bytes = 40960, .file_bytes = 40960
		};
		z.path_len = strlen(path);
		owner_parse(path, z.path_len, &z.owner);
		(void)census_summary_add(s, &z);
	}
}

static int put_census(const char *root)
{
	AUTO_CENSUS_SUMMARY struct census_summary s = { .time_ns = NOW, .method = CENSUS_BY_BPF };
	AUTO_BUF struct buf bytes = { 0 };

	add_zombies(&s, "/docker/%064lx", DOCKER_ZOMBIES);
	add_zombies(&s, "/system.slice/run-%lu.scope", OTHER_ZOMBIES);
	s.live = 240;
	s.tracked = s.live + DOCKER_ZOMBIES + OTHER_ZOMBIES;
	s.dying = DOCKER_ZOMBIES + OTHER_ZOMBIES;
	s.have |= CENSUS_COUNT_KNOWN | CENSUS_BYTES | CENSUS_GROUPS;
	census_summary_finish(&s);
	census_summary_encode(&bytes, &s, 100);
	return write_file(root, "census", &bytes);
}

static void add_events(struct rec_unit_set *set)
{
	char id[80];

	for (unsigned i = 0; i < EVENTS; i++) {
		uint64_t time_ns = NOW - (EVENTS - i) * 10 * S;
		snprintf(id, sizeof(id), "%064u", i);
		struct rec_container_event e = { .time_ns = time_ns,
						 .action = CONTAINER_CREATE,
						 .runtime = "docker",
						 .id = arena_strdup(&set->arena, id),
						 .name = "ecs-agent",
						 .image = "amazon/amazon-ecs-agent:latest",
						 .exit_code = -1 };
		(void)vec_push(&set->events, e);
		e.action = CONTAINER_DIE;
		e.time_ns += 5 * S;
		e.exit_code = 1;
		(void)vec_push(&set->events, e);
	}
}

static int put_units(const char *root)
{
	AUTO_REC_UNITS struct rec_unit_set set = { .have_units = true,
						   .have_containers = true,
						   .systemd_version = 245,
						   .docker_root_cgroup = "/docker" };
	AUTO_BUF struct buf bytes = { 0 };

	struct rec_service *ecs = rec_units_add(&set, "ecs.service");
	ecs->load = "loaded";
	ecs->active = "activating";
	ecs->sub = "auto-restart";
	ecs->file_state = "enabled";
	ecs->restart = "on-failure";
	ecs->result = "exit-code";
	ecs->restarts = 68102;
	ecs->restart_us = 10000000;
	ecs->exit_code = 1;
	ecs->exit_status = 5;
	ecs->have = REC_UNIT_RESTARTS | REC_UNIT_RESTART_US | REC_UNIT_EXIT;
	ecs->seen = 340;
	ecs->first_ns = NOW - 3600 * S;
	ecs->last_ns = NOW - 4 * S;
	ecs->cadence_ns = 10 * S;
	ecs->seen_source = "journal";
	struct rec_service *kubelet = rec_units_add(&set, "kubelet.service");
	kubelet->load = "loaded";
	kubelet->active = "active";
	kubelet->sub = "running";
	kubelet->file_state = "enabled";
	kubelet->cgroup = "/system.slice/kubelet.service";
	add_events(&set);
	rec_units_encode(&bytes, &set);
	return write_file(root, "units", &bytes);
}

int main(int argc, char **argv)
{
	if (argc != 2 || put_census(argv[1]) < 0 || put_units(argv[1]) < 0) {
		fprintf(stderr, "usage: make-incident ROOT\n");
		return 1;
	}
	return 0;
}

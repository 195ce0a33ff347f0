/* Units and containers as the service manager and the engines tell them. A string that is NULL and
 * a number whose bit is not set are unknown. All strings are hostile bytes, owned by the set's
 * arena. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "unknowns.h"
#include "vec.h"

enum rec_unit_have {
	REC_UNIT_RESTARTS = 1 << 0,
	REC_UNIT_RESTART_US = 1 << 1,
	REC_UNIT_LIMIT = 1 << 2, /* interval and burst */
	REC_UNIT_EXIT = 1 << 3,  /* exit_code and exit_status of the main process */
	REC_UNIT_STARTED = 1 << 4,
	REC_UNIT_EXITED = 1 << 5,
	REC_UNIT_PID = 1 << 6,
};

struct rec_service {
	uint64_t have;
	const char *name;
	const char *load, *active, *sub;
	const char *result;     /* "exit-code", "signal" ... */
	const char *file_state; /* "enabled" ... */
	const char *preset;     /* what a first boot would do */
	const char *restart;    /* Restart= */
	const char *type;       /* Type= */
	const char *cgroup;     /* empty between restarts */
	const char *fragment;   /* path of the unit file */
	const char *invocation; /* hex id of this activation */
	const char *exec_start; /* argv of the first ExecStart, joined by blanks */
	const char *condition;  /* result of the last ConditionX=, "no" = it was skipped */
	uint64_t restarts;      /* NRestarts; v235 */
	uint64_t restart_us;    /* RestartSec= */
	uint64_t limit_us, limit_burst;
	uint64_t exit_code; /* CLD_EXITED 1, CLD_KILLED 2, CLD_DUMPED 3 */
	uint64_t exit_status;
	uint64_t started_ns, exited_ns; /* of the main process, wall clock */
	uint64_t pid;
	/* from the journal (or from watching) */
	uint64_t seen;     /* restarts seen there */
	uint64_t first_ns; /* the first of them */
	uint64_t last_ns;
	uint64_t cadence_ns;     /* median distance of the last ones; 0 = not known */
	const char *seen_source; /* what shows them */
};

struct rec_container {
	const char *runtime; /* "docker", "podman", "containerd" */
	const char *id, *name, *image, *state;
	const char *cgroup_parent; /* as configured; "" = the engine's default */
	const char *unit_label;    /* PODMAN_SYSTEMD_UNIT */
	const char *owner_label;   /* "ecs task ...", "pod ns/name" from labels */
	uint64_t created_ns, started_ns;
	uint64_t pid;
	int64_t exit_code;     /* -1 = not known */
	int64_t restart_count; /* -1 = not known */
};

enum rec_container_action {
	CONTAINER_CREATE,
	CONTAINER_START,
	CONTAINER_DIE,
	CONTAINER_DESTROY,
	CONTAINER_OOM,
	CONTAINER_ACTION_END,
};

struct rec_container_event {
	uint64_t time_ns;
	enum rec_container_action action;
	const char *runtime, *id, *name, *image;
	int64_t exit_code; /* of die; -1 = not known */
};

/* A process that holds a connection to an engine's socket. */
struct rec_client {
	const char *runtime, *socket;
	uint64_t pid;
	const char *comm;
	const char *cgroup; /* its path in the hierarchy that systemd uses */
};

struct rec_unit_set {
	struct arena arena;
	VEC(struct rec_service) units;
	VEC(struct rec_container) containers;
	VEC(struct rec_container_event) events; /* in time order */
	VEC(struct rec_client) clients;
	bool have_units, have_containers;
	unsigned systemd_version;  /* 0 = not known */
	uint64_t manager_start_ns; /* when this manager began to count; 0 = not known */
	const char *docker_root_cgroup;
	struct unknowns unknowns;
};

struct rec_service *rec_units_find(const struct rec_unit_set *s, const char *name);
struct rec_service *rec_units_add(struct rec_unit_set *s, const char *name);
const char *rec_container_action_name(enum rec_container_action action);
int rec_container_action_parse(const char *name, enum rec_container_action *ret);
/* "exit code 5", "signal 11 (SEGV)", "core dump, signal 6 (ABRT)"; false when not known. */
bool rec_unit_exit_words(const struct rec_service *u, char *ret, size_t size);
void rec_units_free(struct rec_unit_set *s);

/* FRAME_UNITS: what `record` keeps at the start of each segment. */
struct buf;
void rec_units_encode(struct buf *out, const struct rec_unit_set *s);
int rec_units_decode(const void *bytes, size_t len, struct rec_unit_set *ret);

#define AUTO_REC_UNITS __attribute__((cleanup(rec_units_free)))

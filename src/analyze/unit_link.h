/* Which unit makes which containers. The engine's containers lie outside the unit's cgroup and
 * their creator is the runtime, so the link must be proved otherwise; each proof is named. Pure. */
#pragma once

#include "agents.h"
#include "rec_units.h"

/* Strongest first. */
enum link_proof {
	LINK_LABEL,     /* the container names its unit (PODMAN_SYSTEMD_UNIT) */
	LINK_PEER,      /* a process of the unit holds a connection to the engine */
	LINK_EXEC,      /* the unit's ExecStart names the container */
	LINK_KNOWLEDGE, /* the knowledge base says so */
	LINK_TIME,      /* restarts of the unit and creates keep the same time */
	LINK_NONE,
};

struct container_loop {
	const char *runtime;
	const char *name; /* of the container; NULL when each has another name: grouped by image */
	const char *image;
	uint64_t creates;
	bool in_place; /* not created anew: the engine's restart policy starts the same one again */
	uint64_t restarts; /* in_place: how often */
	uint64_t first_ns, last_ns, cadence_ns;
	double per_min;    /* creates, or restarts in place */
	int64_t exit_code; /* of the last that died; -1 = not known */
	bool looping;      /* still at it */
	const char *last_id;
	const char *cgroup_parent; /* where the engine puts them: "/docker" */
	/* the link */
	const char *unit;
	enum link_proof proof;
	const char *proof_text;
	uint64_t proofs; /* bit per link_proof that holds */
};

struct container_loops {
	struct arena arena;
	VEC(struct container_loop) list;
};

/* Thresholds, in one place. */
struct loop_limits {
	uint64_t creates;       /* of one name before it is a loop */
	uint64_t image_creates; /* of one image under ever new names */
	uint64_t restarts;      /* of a unit, or of a container in place */
	double quiet_cadences;  /* after so many cadences without another it is over */
	uint64_t quiet_ns;      /* and at least this long */
};
extern const struct loop_limits loop_limits;

/* Containers that are made, or restarted in place, again and again, from the engines' events and
 * counters. now_ns is the time of the reading. */
int container_loops_find(const struct rec_unit_set *set, uint64_t now_ns,
			 struct container_loops *ret);
/* Fills unit, proof and proof_text of each. */
void container_loops_link(struct container_loops *loops, const struct rec_unit_set *set,
			  const struct agents *agents);
void container_loops_free(struct container_loops *loops);
const char *link_proof_name(enum link_proof proof);
/* Does a command line run a container of this name or image? */
bool link_exec_names(const char *exec, const char *name, const char *image);

#define AUTO_CONTAINER_LOOPS __attribute__((cleanup(container_loops_free)))

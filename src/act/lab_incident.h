/* What the two ways of staging the whole incident share: in cgroups of the lab's own, or through a
 * real unit (and real containers) where systemd is pid 1. */
#pragma once

#include "lab.h"

struct incident {
	char limited[400]; /* directory of the limited subtree: zombies and the reader */
	bool old_v1;       /* memory.numa_stat walks zombies */
	int ready_fd;      /* eventfd: the reader knows what its work costs without zombies */
	uint64_t limit_bytes;

	/* the lab's own cgroups */
	char agent[400]; /* cgroups of file-pinned zombies */
	char home[400];  /* where the supervisor lives */
	char reader[440];

	/* a real unit */
	bool units;
	char slice[64], unit[64], spool[64], scope[64];
	char socket[108]; /* of dockerd; "" = no containers */
};

/* The slice, the agent's script and, where dockerd answers, the image. */
int incident_units_prepare(struct lab_run *run, struct incident *in, struct err *err);
/* Starts the unit that crash-loops. */
int incident_units_start(struct lab_run *run, struct incident *in, struct err *err);

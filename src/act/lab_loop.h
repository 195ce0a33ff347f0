/* What the looping scenarios share: a supervisor that starts something again and again, each time
 * in a new cgroup, where it writes a file (whose page cache then keeps the cgroup as a zombie) and
 * dies. */
#pragma once

#include "lab.h"

struct lab_loop {
	/* The cgroup of turn i, below the run's directory; made before and removed after the turn.
	 */
	void (*name)(char *ret, size_t size, uint64_t i);
	int exit_code;
	bool leaves_nothing; /* no file: its cgroup goes at once */
};

/* Makes cgroup and scratch directories and turns until options.count turns are done or the deadline
 * comes; options.interval_ns between starts. */
int lab_loop_run(struct lab_run *run, const struct lab_loop *loop, struct err *err);
/* Sleep until the next turn is due. */
void lab_loop_pause(uint64_t *next_ns, uint64_t interval_ns);

/* The scenario in a process of its own: whatever it is waiting for, a signal to the command then
 * finds somebody who ends it and cleans up. */
#pragma once

#include <signal.h>

#include "lab.h"

/* Blocks what ends a command (SIGINT, SIGTERM, SIGHUP), unless it is ignored here already. */
struct lab_signals {
	sigset_t taken, before;
};

void lab_signals_block(struct lab_signals *s);
void lab_signals_restore(const struct lab_signals *s);
/* 0 = the scenario ended (or stands), negative = it failed, positive = the signal that ended it.
 * What it made is left to lab_clean. */
int lab_worker_run(struct lab_run *run, const struct lab_scenario *scenario,
		   const struct lab_signals *signals, struct err *err);

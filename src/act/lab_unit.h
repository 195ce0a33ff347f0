/* Real units for scenarios, where systemd is pid 1. A unit of the lab ends by itself: its
 * ConditionPathExists= is the lab's scratch directory, so that it is not started again once that
 * was removed, whoever removed it. */
#pragma once

#include "lab.h"

/* "auto" is a unit where systemd runs; "unit" always, "process" never. */
bool lab_unit_wanted(const struct lab_run *run);
/* Writes /run/systemd/system/NAME with the given [Service] lines, loads and starts it. NAME must
 * start with "zscope-lab-". The scratch directory must stand. */
int lab_unit_start(struct lab_run *run, const char *name, const char *service, struct err *err);
/* Writes /run/systemd/system/NAME as given and loads it, without starting it. NAME must start with
 * "zscope-lab-", or "zscope_lab_" for a slice. */
int lab_unit_write(struct lab_run *run, const char *name, const char *text, struct err *err);
/* Moves this process into a scope of its own in the slice, and waits until it is there. */
int lab_unit_enter_scope(struct lab_run *run, const char *scope, const char *slice,
			 struct err *err);
/* Stops it, waits for its end, and removes its files: its own, and the mask that `zscope fix` may
 * have put over it. Gone already is fine, and so is a host whose pid 1 is not systemd. */
int lab_unit_remove(const char *name, struct err *err);
/* Until the deadline, or at once with options.keep. */
void lab_unit_wait(const struct lab_run *run);

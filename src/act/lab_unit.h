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
/* Stops it and forgets its file. */
void lab_unit_stop(const char *name);
/* Until the deadline, or at once with options.keep. */
void lab_unit_wait(const struct lab_run *run);

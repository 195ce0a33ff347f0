/* /proc/vmstat: reclaim, faults and swap. */
#pragma once

#include "err.h"
#include "tick.h"

int proc_vmstat_parse(const char *text, struct tick *ret, struct err *err);

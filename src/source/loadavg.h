/* /proc/loadavg. */
#pragma once

#include "err.h"
#include "tick.h"

int loadavg_parse(const char *text, struct tick *ret, struct err *err);
/* The pid that was given out last: the fifth column. */
int loadavg_last_pid(const char *text, uint64_t *ret);

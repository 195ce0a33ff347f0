/* /proc/meminfo. */
#pragma once

#include "err.h"
#include "tick.h"

int proc_meminfo_parse(const char *text, struct tick *ret, struct err *err);

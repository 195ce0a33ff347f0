/* /proc/stat: the time of every online core, and a few counters of the whole machine. */
#pragma once

#include "err.h"
#include "tick.h"

/* Adds a REC_CPU row per core and fills REC_LOAD. Offline cores have no line and get no row.
 * -ENODATA: no core at all. */
int proc_stat_parse(const char *text, struct tick *ret, struct err *err);
/* The cores alone. */
int proc_stat_parse_cores(const char *text, size_t len, struct tick *ret, struct err *err);

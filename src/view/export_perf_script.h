/* The text of `perf script --ns -F comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso`, for
 * FlameScope, stackcollapse-perf.pl, Firefox Profiler and everything else that reads it. */
#pragma once

#include "buf.h"
#include "profile.h"

/* In time order; event: only this one, NULL = all. */
void export_perf_script(struct buf *out, const struct profile *p, const char *event);

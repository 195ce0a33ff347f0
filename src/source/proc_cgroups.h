/* /proc/cgroups and the v2 root's cgroup.stat: how many cgroups the kernel holds. */
#pragma once

#include "err.h"
#include "rec_cgroups.h"

/* Sets tracked from the memory line. -ENODATA: no such line (v2-only kernels). */
int proc_cgroups_parse(const char *text, struct rec_cgroups *ret, struct err *err);
/* Sets descendants, dying_descendants, dying_memory, as far as the file has them. */
int cgroup_stat_parse(const char *text, struct rec_cgroups *ret, struct err *err);

/* Files of one process: /proc/PID/stat, schedstat, cgroup. */
#pragma once

#include <stddef.h>

#include "arena.h"
#include "err.h"
#include "rec_task.h"

/* The name is taken up to the last ')': a process chooses its name, the kernel writes the rest. */
int proc_pid_stat_parse(const char *text, size_t len, struct arena *strings, struct rec_task *ret,
			struct err *err);
/* "run_ns wait_ns slices" */
int proc_pid_schedstat_parse(const char *text, struct rec_task *ret, struct err *err);
/* The path in the v1 hierarchy of `controller`, or in v2 when it is NULL. *ret points into text. */
int proc_pid_cgroup_parse(const char *text, const char *controller, const char **ret,
			  size_t *ret_len);

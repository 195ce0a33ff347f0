/* The directories below a cgroup, with as few system calls as can be: st_nlink - 2 is the number of
 * sub-directories on cgroupfs, so a leaf costs one fstatat and its files are never listed. */
#pragma once

#include <stdint.h>

#include "err.h"
#include "root.h"

/* path is relative to the top, hostile bytes; dir_fd is its parent's, name its last component.
 * Non-zero ends the walk. */
typedef int (*cgroup_walk_fn)(void *arg, int dir_fd, const char *name, const char *path);

enum { CGROUP_WALK_MOST = 2000000, CGROUP_WALK_MOST_DEPTH = 64 };

/* Calls back for every directory below `dir`, the top itself left out; *ret counts them.
 * Directories that vanish meanwhile are no error. each may be NULL. */
int cgroup_walk(const struct root *root, const char *dir, cgroup_walk_fn each, void *arg,
		uint64_t *ret, struct err *err);

/* Open a path below a directory so that nothing in it can lead outside: openat2 where the kernel
 * has it (5.6), else a walk of our own over the components. */
#pragma once

#include <stdbool.h>

/* Returns a descriptor or a negative errno. magic allows /proc/PID/root and the like. */
int root_resolve(int root_fd, const char *path, int open_flags, bool magic);
/* The fallback, for its own test. */
int root_resolve_walk(int root_fd, const char *path, int open_flags, bool magic);

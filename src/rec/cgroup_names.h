/* The path of a cgroup, put together from the names that a BPF program collected on its way up. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"

/* names: of the cgroup and those above it, the innermost first, each with its NUL, the root's
 * empty. Appends "/a/b"; where they do not reach up to the root "…/a/b", so that nobody takes it
 * for a path, and false. Nothing is appended where there is no whole name. */
bool cgroup_names_path(struct buf *out, const char *names, size_t len);

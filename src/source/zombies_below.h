/* A part of the host: the cgroup that the user named, and what its live cgroups' cgroup.stat tells
 * about the zombies below it where there is no census. */
#pragma once

#include "buf.h"
#include "census_summary.h"
#include "offer.h"
#include "root.h"

/* As the census spells it: "/docker" of "docker/", "//docker" or "/sys/fs/cgroup/memory/docker".
 * "/" = the whole host. -EINVAL when it leads out of itself (".."). */
int zombies_below_path(const struct offer *offer, const char *given, struct buf *ret,
		       struct err *err);
/* Whether its directory exists: 1, 0, or negative when that cannot be seen from here. */
int zombies_below_lives(const struct root *root, const struct offer *offer, const char *path);
/* cgroup v2: the number of zombies below `path`, and groups by the live cgroup that they were made
 * in. What it cannot tell is left alone. */
int zombies_below_stat(const struct root *root, const struct offer *offer, const char *path,
		       struct census_summary *s, struct err *err);

/* Statistics of a network driver (ethtool -S) over the SIOCETHTOOL ioctl: the few that tell of
 * resets, lost completions and exceeded allowances. */
#pragma once

#include <stdbool.h>

struct net_device;

/* Whether a statistic is worth keeping, by its name. Pure. */
bool ethtool_stat_matters(const char *name);
/* Learn which of the driver's statistics matter. Silent when it has none. */
void ethtool_stats_open(int socket, struct net_device *d);
void ethtool_stats_read(int socket, struct net_device *d);

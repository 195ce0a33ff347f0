/* The time of every core, the cheapest way that this host offers: from the kernel's own memory
 * where a BPF program may read it, else from /proc/stat. Both ways give the same rows: the first is
 * only taken where it agrees with the second, which is asked again every few minutes. */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "offer.h"
#include "root.h"
#include "tick.h"

struct core_times;

/* root must outlive it. A host without either way is told by the reading. NULL = out of memory. */
struct core_times *core_times_open(const struct root *root, const struct offer *offer);
void core_times_close(struct core_times *c);
/* Whether /proc/stat is not needed for it. */
bool core_times_direct(const struct core_times *c);
/* Adds a row of REC_CPU for every core that is online. */
int core_times_read(struct core_times *c, struct tick *ret, struct err *err);
/* The same from the kernel's memory alone, and what it counts for the machine as a whole into
 * REC_LOAD where that is wanted. false = not this time: nothing was added. */
bool core_times_read_direct(struct core_times *c, bool load, struct tick *ret);

/* Pure: whether the rows of `between`, read after those of `before` and before those of `after`,
 * can be of the same cores. */
bool core_times_agree(const struct tick *before, const struct tick *between,
		      const struct tick *after);

/* Memory reclaim as it happens: BPF on the kernel's tracepoints, which costs nothing while there is
 * none. */
#pragma once

#include "err.h"
#include "reclaim_summary.h"
#include "root.h"

struct reclaim;

/* Counts from here on. */
int reclaim_open(const struct root *root, struct reclaim **ret, struct err *err);
/* All since it was opened; from_ns and to_ns are the caller's. ret is empty before. */
int reclaim_read(struct reclaim *r, struct reclaim_summary *ret, struct err *err);
/* Start again from nothing, when a long watch has filled what the kernel has room for. */
bool reclaim_is_crowded(const struct reclaim_summary *s);
void reclaim_clear(struct reclaim *r);
void reclaim_close(struct reclaim *r);

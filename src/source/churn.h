/* Memory cgroups as they are made, removed and released: by BPF on the kernel's tracepoints, which
 * also tell who did it; else by inotify on the cgroup file system, which tells names only. */
#pragma once

#include <stdbool.h>

#include "churn_summary.h"
#include "err.h"
#include "offer.h"
#include "root.h"
#include "unknowns.h"

struct churn;

/* unknowns gets what a fallback cannot tell. */
int churn_open(const struct root *root, const struct offer *offer, struct churn **ret,
	       struct unknowns *unknowns, struct err *err);
int churn_fd(const struct churn *c); /* POLLIN = something happened */
/* All that has happened since the last call; does not wait. */
int churn_read(struct churn *c, void (*each)(void *arg, const struct churn_event *e), void *arg,
	       struct err *err);
bool churn_knows_creators(const struct churn *c);
uint64_t churn_lost(const struct churn *c);
void churn_close(struct churn *c);

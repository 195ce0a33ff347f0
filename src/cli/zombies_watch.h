/* Everything that happens to memory cgroups from now on, for a while, and what reclaim takes. */
#pragma once

#include "around.h"
#include "offer.h"
#include "root.h"
#include "terminal.h"

/* Fills churn, lives and reclaim of *ret. SIGINT ends it early: what was seen until then stays.
 * Says on stderr that it is at work where that is a terminal. */
int zombies_watch(const struct root *root, const struct offer *offer, uint64_t length_ns,
		  const struct terminal *diag, struct around *ret, struct unknowns *unknowns,
		  struct err *err);

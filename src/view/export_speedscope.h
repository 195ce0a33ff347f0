/* speedscope's own format: every sample in time order, so that its time-order view works. */
#pragma once

#include "buf.h"
#include "profile.h"

/* event: NULL = the first, see export_folded.h. */
void export_speedscope(struct buf *out, const struct profile *p, const char *name,
		       const char *event);

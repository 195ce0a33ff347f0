/* Samples for machines: a line with the envelope and what there is, then one object per line and
 * sample. */
#pragma once

#include <stdio.h>

#include "envelope.h"
#include "profile.h"

/* In time order; event: only this one, NULL = all. Stacks go from the leaf to the root. Printed as
 * it goes: memory does not grow with the window. -ENOMEM */
int export_json(FILE *out, const struct profile *p, const struct envelope *envelope,
		const char *event, uint64_t now_ns);

/* What to do about a diagnosis. A plan is data; only act/ carries it out. */
#pragma once

#include "diagnosis.h"

/* Fill d->plan from its explanations: cure the cause, clean up after it, prove it. */
void plan_make(const struct facts *facts, struct diagnosis *d);

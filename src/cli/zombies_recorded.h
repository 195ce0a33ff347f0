/* `zscope zombies` over a recording. */
#pragma once

#include "command.h"

/* The whole answer from the window of a recording. asks_live: an option was given that only the
 * running kernel can answer. */
int zombies_recorded(struct invocation *in, bool asks_live, struct err *err);

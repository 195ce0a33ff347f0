/* Which processes there are and how much CPU time each has used: the cheap half of tasks.h. */
#pragma once

#include "tasks.h"

/* Bring t->known up to date, and cpu_ns and recent_ns of each. */
int tasks_list_update(struct tasks *t, const struct root *root, struct buf *text, struct err *err);

/* What the recorder's own process costs. */
#pragma once

#include "rec_self.h"
#include "root.h"

struct recorder_meter {
	struct reread statm;
	struct buf text;
};

void recorder_meter_open(struct recorder_meter *m, const struct root *root);
void recorder_meter_close(struct recorder_meter *m);
/* CPU time, resident memory, faults; sets the bits of what it could read and of the counters that
 * the loop keeps. */
void recorder_meter_read(struct recorder_meter *m, struct rec_self *self);

/* What a recording consists of, for `record` and for the private recording of a live `why`.
 * To add a part: a row in record_parts.c. */
#pragma once

#include "record_profile.h"
#include "recorder.h"

struct record_parts {
	struct recorder_use list[RECORDER_MOST_PARTS];
	size_t n;
	struct record_profile_options profile;
};

/* hz 0 = the default. *p must not move while the recorder runs. */
void record_parts_fill(struct record_parts *p, unsigned hz, bool no_profile);

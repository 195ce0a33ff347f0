/* The part of the recorder that keeps the kernel log (raw, as it arrives) and the events found in
 * it, the network's counters, starved kernel threads, pod weights, and notes of people. */
#pragma once

#include "recorder.h"

struct record_events_options {
	int kmsg_fd; /* tests: read records from here instead of /dev/kmsg; 0 = no */
};

extern const struct recorder_part record_events;
/* Records of the kernel log that were overwritten before they could be read. */
uint64_t record_events_lost(const void *state);

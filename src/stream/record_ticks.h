/* The part of the recorder that writes ticks: every source once a second, with the recorder's own
 * meter as a row of each tick (where the kinds asked for have it). */
#pragma once

#include "recorder.h"

struct record_ticks_options {
	uint32_t kinds; /* as in tick_source_options; 0 = all */
};

extern const struct recorder_part record_ticks;

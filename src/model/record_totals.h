/* The recorder's part that writes the counters up to here at the start of each segment, so that
 * they survive the recorder, its readers and retention. */
#pragma once

#include "recorder.h"

extern const struct recorder_part record_totals;

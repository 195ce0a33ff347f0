/* The recorder's part for units and containers: changes as systemd and the engines announce them,
 * as events, and their state at the start of each segment (FRAME_UNITS). Nothing is polled: while
 * nothing happens it costs nothing. */
#pragma once

#include "recorder.h"

extern const struct recorder_part record_units;

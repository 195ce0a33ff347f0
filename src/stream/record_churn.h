/* The recorder's part for cgroups: every minute who made and removed memory cgroups (FRAME_CHURN)
 * and how many zombies there are and whose (FRAME_CENSUS). */
#pragma once

#include "recorder.h"

extern const struct recorder_part record_churn;

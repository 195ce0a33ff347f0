/* The recorder's part that samples all cores and writes their profile. */
#pragma once

#include "recorder.h"

enum { RECORD_PROFILE_HZ = 97 }; /* a prime: not in step with the kernel's own ticks */

struct record_profile_options {
	unsigned hz; /* 0 = RECORD_PROFILE_HZ */
};

extern const struct recorder_part record_profile;

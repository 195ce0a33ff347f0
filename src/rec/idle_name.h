/* Functions in which an idle core waits. A sample is idle when pid is 0 AND its leaf is one of
 * these: softirq and interrupt work on an idle core runs as pid 0 too and must stay visible. */
#pragma once

#include <stdbool.h>

bool idle_name(const char *function);

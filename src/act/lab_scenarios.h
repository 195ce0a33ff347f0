/* The scenarios, one file each. */
#pragma once

#include "lab.h"

extern const struct lab_scenario lab_busy_core;
extern const struct lab_scenario lab_zombies;

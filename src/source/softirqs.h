/* /proc/softirqs: a row per kind, a column per core. */
#pragma once

#include "err.h"
#include "tick.h"

int softirqs_parse(const char *text, struct tick *ret, struct err *err);

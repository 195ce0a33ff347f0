/* /proc/net/softnet_stat: hexadecimal columns, a line per online core. */
#pragma once

#include "err.h"
#include "tick.h"

int softnet_parse(const char *text, struct tick *ret, struct err *err);

/* /proc/pressure/cpu, memory, io, irq. */
#pragma once

#include "err.h"
#include "rec_pressure.h"
#include "tick.h"

/* Adds the row of one resource. */
int pressure_parse(const char *text, enum pressure_resource resource, struct tick *ret,
		   struct err *err);
const char *pressure_path(enum pressure_resource resource); /* "proc/pressure/cpu" */

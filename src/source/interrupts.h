/* /proc/interrupts: all lines of all cores. Costs milliseconds on large hosts, so it is read only
 * every 10 s; see nic_irq.h for the every-second view of network queues. */
#pragma once

#include "err.h"
#include "tick.h"

/* Adds REC_IRQ rows for every cell that is not 0, with the line's name. */
int interrupts_parse(const char *text, struct tick *ret, struct err *err);

/* Counts net:net_dev_xmit_timeout: every Tx watchdog hit of any driver, also of those that print
 * nothing. */
#pragma once

#include <stdint.h>

#include "err.h"
#include "root.h"
#include "vec.h"

struct xmit_timeout {
	VEC(int) fds; /* one per core */
	uint64_t count;
};

/* Needs the right to open tracepoints; tracefs need not be mounted. err names what is missing. */
int xmit_timeout_open(struct xmit_timeout *x, const struct root *root, struct err *err);
/* Hits since the last call. */
uint64_t xmit_timeout_read(struct xmit_timeout *x);
void xmit_timeout_close(struct xmit_timeout *x);

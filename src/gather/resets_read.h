/* For `check`: how often network drivers reset themselves of late, from the recording where there
 * is one and from what the kernel's ring still holds, or held when the host was captured. */
#pragma once

#include "err.h"
#include "root.h"

enum { RESETS_DETAIL_MAX = 240, RESETS_WINDOW_S = 3600 };

/* store_dir may be NULL. The detail names the last one ("" = none; hostile bytes). Negative when
 * neither could be read, with the ring's reason in err. */
int resets_read(const struct root *root, const char *store_dir, uint64_t now_ns, double *ret_count,
		char ret_detail[RESETS_DETAIL_MAX], struct err *err);

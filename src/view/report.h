/* One self-contained HTML file: the page's own code, with the answers of the API inside as inert
 * JSON. */
#pragma once

#include "api.h"

struct report_options {
	uint64_t from_ns, to_ns; /* 0 = the whole recording */
	uint64_t at_ns;          /* the moment in focus; 0 = the last critical event */
	bool by_cpu;
	uint32_t cpu; /* whose flame graph; default: the hottest core of the focus */
};

enum { REPORT_MOST_BYTES = 5 << 20 };

/* *ret_shown: the window that it shows, in whole seconds. -ENODATA when the recording is empty. */
int report_write(struct api *api, const struct report_options *options, struct buf *out,
		 struct api_window *ret_shown, struct err *err);

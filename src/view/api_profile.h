/* What heat map, flame graph and difference share: which samples of which window. */
#pragma once

#include "api.h"
#include "flame.h"
#include "profile_read.h"
#include "unknowns.h"

/* cpu, comm and unit of the query. */
int api_take_filter(const struct http_query *q, struct flame_filter *f, struct err *err);
bool api_filter_any(const struct flame_filter *f);
/* One second in so many is read, so that an answer takes a bounded time. */
unsigned api_seconds_step(struct api *api, const struct api_window *w);
/* The samples of a window, given to options->chunk as they are read; sets options->every_s. No
 * profile in the window is an empty one, and named in *unknown. */
int api_read_chunks(struct api *api, const struct api_window *w,
		    struct profile_read_options *options, struct profile *ret,
		    struct unknowns *unknown, struct err *err);
/* "one_second_in", where not all were read. */
void api_write_step(struct json *j, unsigned step);

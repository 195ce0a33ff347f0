/* profile.proto (google/pprof), gzip'd: read by go tool pprof, Pyroscope, speedscope, Parca. */
#pragma once

#include "buf.h"
#include "profile.h"

/* Samples of one event (NULL = the first, see export_folded.h), joined by stack, process and
 * thread name; two values each: samples and the event's own unit. -ENOMEM. */
int export_pprof(struct buf *out, const struct profile *p, const char *event);

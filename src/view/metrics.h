/* The recorder's numbers for Prometheus. Nothing is collected here: a scrape formats what the
 * recorder wrote. Names follow the Prometheus conventions; docs/METRICS.md lists them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "json.h"
#include "tick.h"
#include "totals.h"

struct metrics_owner {
	const char *owner, *kind;
	uint64_t count, bytes;
};

struct metrics_input {
	const struct totals *totals;
	const struct tick *last;            /* newest reading; no rows = none */
	const struct metrics_owner *owners; /* zombies by owner, largest first */
	size_t n_owners;
	uint64_t to_ns; /* end of the recording, 0 = empty */
	bool readable;  /* the store can be read just now */
	size_t losses;  /* parts of it that could not */
};

/* openmetrics: with units, created names and # EOF; else the Prometheus text format 0.0.4. */
void metrics_write(struct buf *out, const struct metrics_input *in, bool openmetrics);
/* "metrics": [{name, type, help, labels: {}, value}] */
void metrics_json(struct json *j, const struct metrics_input *in);
#define METRICS_TYPE_PLAIN "text/plain; version=0.0.4; charset=utf-8"
#define METRICS_TYPE_OPEN  "application/openmetrics-text; version=1.0.0; charset=utf-8"

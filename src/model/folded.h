/* Folded stacks as text, `stack count` per line, and their difference as FlameGraph's difffolded.pl
 * and inferno-diff-folded give it: `stack before after`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"
#include "map.h"

struct folded {
	struct map_str stacks; /* stack → count */
	uint64_t total;
	uint64_t n_lines;
};

struct folded_diff_options {
	bool normalize; /* scale the first to the total of the second, fractions cut */
	bool strip_hex; /* 0x1234 in names becomes 0x... */
};

/* Fractions of counts are cut. A line without a count is an error that names it: a sum over the
 * rest would be wrong in silence. */
int folded_parse(const char *text, size_t len, struct folded *ret, struct err *err);
int folded_read(const char *path, struct folded *ret, struct err *err);
void folded_free(struct folded *f);
/* All stacks of both, sorted. Widths of the picture come from `after`: for what vanished, swap
 * them.
 */
int folded_diff(struct buf *out, const struct folded *before, const struct folded *after,
		const struct folded_diff_options *options, struct err *err);

#define AUTO_FOLDED __attribute__((cleanup(folded_free)))

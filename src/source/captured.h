/* A captured host: a tree of files with a second reading of the counters in it, so that rates work
 * without the host. Layout, beside the host's own files of the later reading:
 *   .zscope/clock           clocks of the later reading ("real_ns N", "mono_ns N", "boot_ns N")
 *   .zscope/units           units and containers, as the recorder stores them (capture_units.h)
 *   .zscope/units-unknown   what of them was not told, and why
 *   .zscope/no-loops        there is neither a manager nor an engine, in words
 *   .zscope/census          zombies by owner, as the recorder stores them
 *   .zscope/before/         proc/stat ... as they were earlier
 *   .zscope/before/.zscope/clock */
#pragma once

#include "root.h"
#include "tick.h"
#include "tick_source.h"
#include "unknowns.h"

#define CAPTURED_BEFORE ".zscope/before"
#define CAPTURED_CLOCK  ".zscope/clock"
#define CAPTURED_CENSUS ".zscope/census" /* as census_summary_encode writes it */

/* Pure: the clocks of a reading. */
int captured_clock_parse(const char *text, struct tick *ret, struct err *err);
/* The earlier reading as a tree of its own; -ENOENT when there is none. */
int captured_before(const struct root *root, struct root *ret);
/* Two ticks: of a live host interval_ns apart, of a captured one those that it holds. Returns 1, or
 * 0 when the tree holds only one reading (then *before is empty); the missing one is named. */
int captured_pair(const struct root *root, const struct tick_source_options *options,
		  uint64_t interval_ns, struct tick *before, struct tick *after,
		  struct offer *ret_offer, struct unknowns *unknowns, struct err *err);

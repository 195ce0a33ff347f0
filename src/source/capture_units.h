/* What the manager, its journal and the engines say at the moment of a capture: rates and loops
 * cannot be told from unit files. What they did not say, and that there is none of them, is kept
 * too: a capture gives the answers that its host gave. */
#pragma once

#include "buf.h"
#include "root.h"
#include "unknowns.h"

#define CAPTURED_UNITS         ".zscope/units"         /* as rec_units_encode writes it */
#define CAPTURED_UNITS_UNKNOWN ".zscope/units-unknown" /* "WHAT\tWHY\n": what was not told */
#define CAPTURED_NO_LOOPS      ".zscope/no-loops"      /* why nothing can loop there */

/* The files that hold it, and their bytes; one that is empty is not written. Command lines lose all
 * but their first word. Live host only. */
enum { CAPTURED_STATES = 3 };
extern const char *const captured_states[CAPTURED_STATES];
void capture_unit_states(const struct root *root, struct buf ret[CAPTURED_STATES],
			 struct unknowns *unknowns);
#define CAPTURE_NO_MANAGER_WHY "pid 1 is not systemd: no unit runs here"
/* Is there neither a manager nor an engine on this live host whose things could loop? 1: none;
 * negative: it cannot be told. */
#define CAPTURE_NO_LOOPS_WHY "pid 1 is not systemd and no container engine is here"
int capture_nothing_loops(const struct root *root, struct err *err);
/* Pure: the text of CAPTURED_UNITS_UNKNOWN. */
void captured_unknowns_parse(const char *text, struct unknowns *ret);

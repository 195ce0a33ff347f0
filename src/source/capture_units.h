/* What the manager, its journal and the engines say at the moment of a capture: rates and loops
 * cannot be told from unit files. */
#pragma once

#include "buf.h"
#include "root.h"
#include "unknowns.h"

#define CAPTURED_UNITS ".zscope/units" /* as rec_units_encode writes it */

/* The bytes of CAPTURED_UNITS; nothing where systemd does not run. Command lines lose all but their
 * first word. Live host only. */
void capture_unit_states(const struct root *root, struct buf *out, struct unknowns *unknowns);

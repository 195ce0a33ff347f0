/* Heat maps for a terminal (256 colours, or characters), as SVG and as JSON. */
#pragma once

#include <stdio.h>

#include "buf.h"
#include "heat.h"
#include "json.h"
#include "terminal.h"

/* Seconds by parts of a second, late at the top as FlameScope draws it; wide maps are cut into
 * bands of the terminal's width. */
void view_heat_text(FILE *out, const struct terminal *term, const struct heat *h);
/* Cores by seconds: percent busy by samples; '!' where samples were lost or ticks never came. */
void view_heat_cores_text(FILE *out, const struct terminal *term, const struct heat *h);
/* A picture of days would be hundreds of megabytes. */
bool view_heat_svg_fits(const struct heat *h);
void view_heat_svg(struct buf *out, const struct heat *h);
/* The members of the contract: start_ns, seconds, rows, cols, counts (one array per second), cores.
 */
void view_heat_json(struct json *j, const struct heat *h);

/* Flame graphs that need nothing but a browser: one file, no request leaves it. Click zooms, Ctrl-F
 * or the button searches and shows the share of what matched, Esc and "reset" go back. */
#pragma once

#include "buf.h"
#include "export_tree.h"
#include "json.h"
#include "profile.h"

struct svg_options {
	const char *title;    /* NULL = "Flame graph" */
	const char *subtitle; /* NULL = none: host, window, losses */
	unsigned width;       /* pixels, 0 = 1200 */
	double min_width;     /* frames narrower than this many pixels are left out; 0 = 0.1 */
};

/* Widths are those of the tree; a differential one is red where it grew, blue where it shrank. */
void export_svg(struct buf *out, const struct export_tree *tree, const struct svg_options *options);
/* A page around it with the hottest functions as a table. */
void export_html(struct buf *out, const struct export_tree *tree,
		 const struct svg_options *options);
/* {"name", "value", "self", "children": [...]}: what d3-flame-graph and FlameScope read. The
 * caller's object is open; this adds the member `key`. */
void export_tree_json(struct json *j, const char *key, const struct export_tree *tree);

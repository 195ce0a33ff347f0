/* Questions about a host or image that the knowledge base asks: is a file there, does it hold this,
 * what hardware is it. Answered from the tree only, never from the network; what a tree cannot tell
 * (hardware of an image that is not booted) stays unknown. */
#pragma once

#include "rec_units.h"
#include "root.h"

enum probe {
	PROBE_NO,
	PROBE_YES,
	PROBE_UNKNOWN,
};

struct unit_tree;

struct host_probe {
	const struct root *root;
	struct unit_tree *tree;           /* NULL = no unit files known */
	const struct rec_unit_set *units; /* NULL = not booted, or systemd does not answer */
};

/* kind: "path", "nonempty", "absent", "grep", "unit", "dmi", "pci", "virt", "cmdline", "class",
 * "mount"; any other kind is unknown. The file that shows the answer goes to ret_source. */
enum probe host_probe_ask(void *probe, const char *kind, const char *argument,
			  char ret_source[160]);

/* What kind of host it is: one line of evidence each. */
enum host_shape {
	SHAPE_UNKNOWN,
	SHAPE_K8S,
	SHAPE_ECS,
	SHAPE_NOMAD,
	SHAPE_BATCH,
	SHAPE_RAW,
	SHAPE_END,
};

struct shape_evidence {
	enum host_shape shape;
	char what[120];
	char source[160];
};

struct shape_evidences {
	VEC(struct shape_evidence) list;
};

/* Everything that speaks for a shape, strongest first per shape. */
void host_probe_shapes(const struct host_probe *p, struct shape_evidences *ret);
const char *host_shape_name(enum host_shape shape);
int host_shape_parse(const char *name, enum host_shape *ret);

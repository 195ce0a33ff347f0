/* Everything that an audit looks at, gathered once: units (live or from files), containers, who is
 * connected to the engines, the knowledge base, evidence of the host's shape. */
#pragma once

#include "audit.h"
#include "host_probe.h"
#include "root.h"
#include "unit_tree.h"

struct audit_read {
	struct rec_unit_set set;
	struct unit_tree *tree; /* NULL = no unit files were found */
	struct unit_boot_plan plan;
	bool have_plan;
	struct agents agents;
	struct shape_evidences shapes;
	struct host_probe probe; /* points into this struct: do not move it */
	bool booted;             /* a running system, not an image */
	uint64_t captured_ns;    /* a captured host: when that was; 0 = now */
	bool partial;            /* the manager did not answer: a clean bill cannot be given */
	bool all_told;           /* what the set does not hold does not run */
};

/* knowledge: the user's own table, NULL = only /etc/zombiescope/agents.tsv of the tree, if any. */
int audit_read_all(const struct root *root, const char *knowledge, struct audit_read *ret,
		   struct err *err);
/* What audit_run() is given of it; points into read. A caller adds what it was asked for. */
struct audit_input audit_read_input(struct audit_read *read, uint64_t now_ns);
/* Zombies by owner, when something loops and a census can be taken. */
void audit_read_zombies(const struct root *root, struct audit *a, uint64_t now_ns);
/* For `check`: how many units crash-loop, and which. NAN: there is neither a manager nor an engine
 * whose things could, on the host or where it was captured; ret_names says so. */
enum { AUDIT_NAMES_MAX = 240 };
int audit_read_loops(const struct root *root, uint64_t now_ns, double *ret_count, char *ret_names,
		     struct unknowns *unknowns);
void audit_read_free(struct audit_read *r);

#define AUTO_AUDIT_READ __attribute__((cleanup(audit_read_free)))

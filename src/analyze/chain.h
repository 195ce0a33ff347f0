/* Findings joined as cause → effect, only where mechanism, place and time agree. How sure a chain
 * is, and why, stands in docs/DIAGNOSIS.md, "Confidence". Pure. */
#pragma once

#include "facts.h"
#include "finding.h"

enum holds {
	HOLDS_NOT = -1, /* contradicted: no join */
	HOLDS_UNKNOWN = 0,
	HOLDS_YES = 1,
};

struct join {
	size_t cause, effect; /* indices into the findings */
	const char *how;      /* the mechanism, in words */
	enum holds place, time;
	double confidence;
};

/* One way to explain what was found: a path from a root to the last symptom it reaches. */
struct explanation {
	VEC(size_t) findings; /* root first */
	VEC(size_t) joins;    /* one less: joins[i] leads from findings[i] to findings[i + 1] */
	double confidence;
	bool search_incomplete; /* a source that could show a deeper cause was missing */
	size_t explained;       /* findings that the root reaches, itself included */
	const char *apart; /* what would tell it from the explanation ranked before it; NULL for the
			      first */
};

struct chains {
	VEC(struct join) joins;
	VEC(struct explanation) ranked; /* most confident first; empty = nothing found */
};

int chains_build(const struct facts *facts, struct findings *all, struct chains *ret);
void chains_free(struct chains *c);

#define AUTO_CHAINS __attribute__((cleanup(chains_free)))

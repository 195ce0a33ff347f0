/* The answer to "why": verdict, chain, plan. */
#pragma once

#include "chain.h"
#include "err.h"
#include "rule.h"

enum plan_action {
	PLAN_DISABLE,  /* stop the unit, wait until its cgroup is empty, mask it */
	PLAN_PURGE,    /* release the zombies */
	PLAN_VALIDATE, /* watch whether it helped */
	PLAN_LOOK,     /* a command that shows more; changes nothing */
	PLAN_REBOOT,   /* the honest last resort */
};

struct plan_step {
	unsigned id; /* from 1 */
	enum plan_action action;
	const char *target;  /* unit, cgroup directory or "" */
	const char *command; /* what to type */
	const char *why;     /* in words, also what the risk is about */
	const char *risk;    /* none, low, medium, high */
	bool reversible, reboot;
};

struct diagnosis {
	struct findings findings;
	struct chains chains;
	struct unknowns unknown;
	VEC(struct plan_step) plan;
	/* The verdict. title is never NULL; confidence 0 and culprit_kind "none" when the node is
	 * healthy. */
	bool healthy;
	bool blind; /* nothing was looked at: no finding, but no clean bill either */
	const char *id, *title;
	double confidence;
	const char *culprit_kind, *culprit_name; /* unit, container, process, cgroup, host, none */
	const char *looked_at;                   /* "per-core time, the profile, ..." */
};

/* NULL thresholds = the defaults. */
int diagnosis_make(const struct facts *facts, const struct thresholds *t, struct diagnosis *ret,
		   struct err *err);
void diagnosis_free(struct diagnosis *d);
const char *plan_action_name(enum plan_action action);

#define AUTO_DIAGNOSIS __attribute__((cleanup(diagnosis_free)))

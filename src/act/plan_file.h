/* The last plan, between `why` that makes it and `fix` that carries it out. It is bound to the
 * boot, to the state of its target and to a day: a plan for a host that has changed since is
 * refused. */
#pragma once

#include "diagnosis.h"
#include "manager.h"
#include "root.h"

struct planned {
	unsigned id;
	enum plan_action action;
	char target[256];
	char state[600]; /* of the target when the plan was made */
};

struct plan_file {
	char boot_id[40];
	uint64_t time_ns;
	VEC(struct planned) steps;
};

/* m may be NULL: then the unit's state is not known and the plan says so. */
int plan_file_save(const char *state_dir, const struct root *root, struct manager *m,
		   const struct diagnosis *d, uint64_t now_ns, struct err *err);
int plan_file_parse(const char *text, struct plan_file *ret, struct err *err);
int plan_file_load(const char *state_dir, struct plan_file *ret, struct err *err);
/* -ESTALE with the reason when the host is no longer what the plan was made for. */
int plan_file_check(const struct plan_file *p, const struct planned *step, const struct root *root,
		    struct manager *m, uint64_t now_ns, struct err *err);
const struct planned *plan_file_find(const struct plan_file *p, unsigned id);
void plan_file_free(struct plan_file *p);

#define AUTO_PLAN_FILE __attribute__((cleanup(plan_file_free)))

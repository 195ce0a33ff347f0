/* What a fix would do or did: for people line by line as it happens, else one JSON object at the
 * end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cure.h"
#include "json.h"
#include "plan_file.h"
#include "root.h"

struct view_fix {
	bool json;
	bool in_lines; /* the JSON array of what is done is open */
	struct buf out;
	struct json j;
};

void view_fix_open(struct view_fix *v, bool json, const struct root *root, uint64_t now_ns);
void view_fix_close(struct view_fix *v);
/* The plan itself, when no step was named. */
void view_fix_plan(struct view_fix *v, const struct plan_file *plan);
/* One step: done, or what would be done. */
void view_fix_step(struct view_fix *v, const struct planned *step, bool apply);
/* A line of it. */
void view_fix_line(struct view_fix *v, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void view_fix_purged(struct view_fix *v, const struct cure_purge *c);
/* The zombies could not be purged; the unit is dealt with all the same. */
void view_fix_not_purged(struct view_fix *v, const char *why);
/* Why the step cannot be done here, behind what would be done; people read it on stderr. */
void view_fix_cannot(struct view_fix *v, const char *why);
/* What to do next, for people only; then the JSON object is printed. */
void view_fix_end(struct view_fix *v, const char *advice);

/* The knowledge base: units that base images enable, where they belong, what they need, what each
 * restart leaks and what to do. A table of tab-separated columns with a head line, built in from
 * agents.tsv; the user's own file is read in front of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "arena.h"
#include "err.h"
#include "vec.h"

struct agent {
	const char *unit; /* may hold * */
	const char *product, *vendor, *image, *purpose;
	const char *needs; /* predicates, see fit.h */
	const char *fits;  /* shapes and environments, see fit.h */
	const char *signature, *policy, *leak, *action, *source;
	const char *container; /* name of the container that the unit makes; "" = none known */
};

struct agents {
	struct arena arena;
	VEC(struct agent) list;
};

enum { AGENTS_MOST = 10000, AGENTS_FILE_CAP = 4 << 20 };

/* Append the rows of a table. Pure. A row with too few columns is an error that names its line. */
int agents_parse(const char *text, size_t len, struct agents *ret, struct err *err);
int agents_builtin(struct agents *ret, struct err *err);
/* The next row for the unit after `after` (NULL = the first); NULL at the end. */
const struct agent *agents_next(const struct agents *a, const char *unit,
				const struct agent *after);
void agents_free(struct agents *a);

#define AUTO_AGENTS __attribute__((cleanup(agents_free)))

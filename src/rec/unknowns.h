/* What could not be read, and why: every answer carries this list instead of guessing. */
#pragma once

#include "json.h"
#include "vec.h"

struct unknown {
	char what[96];
	char why[300];
};

struct unknowns {
	VEC(struct unknown) list;
};

/* Adds once per `what`; the first reason stays. */
void unknowns_add(struct unknowns *u, const char *what, const char *why_format, ...)
	__attribute__((format(printf, 3, 4)));
void unknowns_json(struct json *j, const struct unknowns *u); /* "unknown": [...] */
void unknowns_free(struct unknowns *u);

#define AUTO_UNKNOWNS __attribute__((cleanup(unknowns_free)))

/* A shared library that is loaded when it is first needed, because one command needs it and every
 * command would pay for its being linked. */
#pragma once

#include <stddef.h>

#include "err.h"

struct library_function {
	const char *symbol;
	size_t offset; /* of the pointer in the caller's table */
};

/* Fills the table; the library stays loaded until the program ends. -ELIBACC = it cannot be loaded,
 * err says why; -ELIBBAD = it lacks a function. */
int library_load(const char *soname, const struct library_function *functions, size_t n,
		 void *table, struct err *err);

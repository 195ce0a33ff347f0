/* A typed growing array: `struct { VEC(struct frame) frames; }`, vec_push(&v, item).
 * Growth failure is reported by the return value; nothing is lost. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define VEC(type)            \
	struct {             \
		type *items; \
		size_t len;  \
		size_t cap;  \
	}

/* Grow *items so that it holds at least want elements of size bytes each. */
bool vec_grow(void **items, size_t *cap, size_t want, size_t size);

#define vec_reserve(v, n) vec_grow((void **)&(v)->items, &(v)->cap, (n), sizeof(*(v)->items))
/* true when pushed, false when out of memory */
#define vec_push(v, ...) \
	(vec_reserve((v), (v)->len + 1) ? ((v)->items[(v)->len++] = (__VA_ARGS__), true) : false)
#define vec_free(v)                \
	do {                       \
		free((v)->items);  \
		(v)->items = NULL; \
		(v)->len = 0;      \
		(v)->cap = 0;      \
	} while (0)
#define vec_foreach(v, it) \
	for (__auto_type it = (v)->len ? (v)->items : NULL; it && it < (v)->items + (v)->len; it++)
#define vec_sort(v, compare)                                                         \
	do {                                                                         \
		if ((v)->len)                                                        \
			qsort((v)->items, (v)->len, sizeof(*(v)->items), (compare)); \
	} while (0)

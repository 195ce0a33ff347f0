/* Finds any of many literal strings in bytes, in one pass whatever their number: 32 bytes at a time
 * where the CPU has AVX2, a pair table elsewhere. A literal is found through its rarest 4 bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LITERAL_LEAST = 4, LITERAL_MOST = 4000 };

struct literal_set;

/* Copies the texts; each has at least LITERAL_LEAST bytes. NULL when out of memory or when a
 * literal is too short. */
struct literal_set *literal_new(const char *const *texts, size_t n);
void literal_free(struct literal_set *s);
/* The next place at or behind `from` where the rarest 4 bytes of some literal lie, with that whole
 * literal around them; len when there is none. Go on at the place + 1. */
size_t literal_next(const struct literal_set *s, const char *bytes, size_t len, size_t from);
/* The numbers (in `texts`) of all literals at such a place; at most `most`. */
size_t literal_which(const struct literal_set *s, const char *bytes, size_t len, size_t at,
		     unsigned *ret, size_t most);
/* For tests: never use the vector unit. */
void literal_use_portable(struct literal_set *s);

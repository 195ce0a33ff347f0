/* Memory that dies together: one arena per window, query or parse. */
#pragma once

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks;
};

/* Zeroed, aligned for any type; NULL when out of memory. */
void *arena_alloc(struct arena *a, size_t size);
char *arena_strdup(struct arena *a, const char *text);
char *arena_strndup(struct arena *a, const char *text, size_t len);
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
void arena_free(struct arena *a);
size_t arena_bytes(const struct arena *a); /* held from malloc, for self-metering */

#define AUTO_ARENA __attribute__((cleanup(arena_free)))

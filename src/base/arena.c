#include "arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tick_path.h"

enum { ARENA_BLOCK_BYTES = 64 * 1024 };

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	alignas(max_align_t) char bytes[];
};

void *arena_alloc(struct arena *a, size_t size)
{
	size_t align = alignof(max_align_t);

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + align - 1) & ~(align - 1);
	struct arena_block *block = a->blocks;
	if (!block || block->size - block->used < size) {
		size_t room = size > ARENA_BLOCK_BYTES ? size : ARENA_BLOCK_BYTES;
		block = malloc(sizeof(*block) + room);
		if (!block)
			return NULL;
		block->next = a->blocks;
		block->used = 0;
		block->size = room;
		a->blocks = block;
	}
	void *taken = block->bytes + block->used;
	block->used += size;
	return memset(taken, 0, size);
}

char *arena_strndup(struct arena *a, const char *text, size_t len)
{
	char *copy = arena_alloc(a, len + 1);
	if (copy)
		memcpy(copy, text, len);
	return copy;
}

char *arena_strdup(struct arena *a, const char *text)
{
	return arena_strndup(a, text, strlen(text));
}

char *arena_printf(struct arena *a, const char *format, ...)
{
	va_list args, again;

	va_start(args, format);
	va_copy(again, args);
	int n = vsnprintf(NULL, 0, format, again);
	va_end(again);
	char *text = n < 0 ? NULL : arena_alloc(a, (size_t)n + 1);
	if (text)
		vsnprintf(text, (size_t)n + 1, format, args);
	va_end(args);
	return text;
}

EVERY_TICK void arena_free(struct arena *a)
{
	while (a->blocks) {
		struct arena_block *next = a->blocks->next;
		free(a->blocks);
		a->blocks = next;
	}
}

size_t arena_bytes(const struct arena *a)
{
	size_t total = 0;
	for (const struct arena_block *b = a->blocks; b; b = b->next)
		total += sizeof(*b) + b->size;
	return total;
}

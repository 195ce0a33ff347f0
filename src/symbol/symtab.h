/* A sorted table of functions: address range → name. A lookup outside of every range finds
 * nothing: a name from the nearest neighbour is worse than none. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "vec.h"

enum { SYMTAB_MAX = 4 << 20, SYMTAB_MAX_NAME = 4096 };

struct symtab_entry {
	uint64_t start;
	uint32_t size;  /* 0 = only its very first address is known to be in it */
	uint32_t name;  /* offset into names */
	uint8_t rank;   /* of two names for one place the higher wins: global over local */
	uint32_t group; /* free for the owner: module of a kernel symbol */
};

struct symtab {
	VEC(struct symtab_entry) entries;
	struct buf names; /* NUL-terminated, one after the other */
	bool sorted;
};

bool symtab_add(struct symtab *t, uint64_t start, uint64_t size, const char *name, size_t name_len,
		uint8_t rank, uint32_t group);
/* The name is in t->names already, at that offset. */
bool symtab_add_at(struct symtab *t, uint64_t start, uint64_t size, uint32_t name, uint8_t rank);
/* Once after the last add: sorts, drops duplicates, gives unused memory back. */
void symtab_finish(struct symtab *t);
/* Sizes up to the next entry, for tables that have none (kallsyms), at most `most`. */
void symtab_fill_sizes(struct symtab *t, uint32_t most);
/* Index of the first of the first n entries that begins behind the address. */
size_t symtab_behind(const struct symtab *t, size_t n, uint64_t address);
/* NULL = no function is known there. */
const struct symtab_entry *symtab_find(const struct symtab *t, uint64_t address);
const char *symtab_name(const struct symtab *t, const struct symtab_entry *entry);
size_t symtab_bytes(const struct symtab *t);
void symtab_free(struct symtab *t);

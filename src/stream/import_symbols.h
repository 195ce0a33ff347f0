/* Addresses of an imported recording → frames. The processes are gone; what is left is their
 * mappings in the file, and ELF files here whose build id proves that they are the same. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "perf_data.h"
#include "profile.h"
#include "root.h"

struct import_symbols;

/* root NULL: no file is read, unknown = module + offset. `extra`: a directory with more ELF files,
 * by base name; may be NULL. */
struct import_symbols *import_symbols_new(struct profile *p, const struct root *root,
					  const char *extra);
void import_symbols_free(struct import_symbols *s);

void import_symbols_map(struct import_symbols *s, const struct perf_data *d,
			const struct perf_rec *rec);
void import_symbols_fork(struct import_symbols *s, uint32_t pid, uint32_t parent);
void import_symbols_exec(struct import_symbols *s, uint32_t pid);
void import_symbols_exit(struct import_symbols *s, uint32_t pid);
void import_symbols_ksymbol(struct import_symbols *s, uint64_t start, uint32_t len,
			    const char *name);
/* The stack of a sample's chain (or its ip); 0 when it has no frame. */
uint32_t import_symbols_stack(struct import_symbols *s, const struct perf_data *d,
			      const struct perf_rec *rec);

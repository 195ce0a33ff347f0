/* The kernel's own symbols: /proc/kallsyms with modules and BPF programs. Read once per boot. */
#pragma once

#include <stdint.h>

#include "err.h"
#include "root.h"
#include "symtab.h"

struct kallsyms {
	struct symtab table; /* group: index into modules, 0 = the kernel itself */
	VEC(char *) modules; /* "[kernel.kallsyms]", "[ena]", "[bpf]" ... */
};

/* Text of /proc/kallsyms. -EACCES when every address is hidden (kernel.kptr_restrict). */
int kallsyms_parse(const char *text, struct kallsyms *ret, struct err *err);
int kallsyms_read(const struct root *root, struct kallsyms *ret, struct err *err);
/* A symbol that came later (BPF program, KSYMBOL record). */
void kallsyms_add(struct kallsyms *k, uint64_t start, uint32_t len, const char *name, bool bpf);
/* The symbol at address and its module; NULL = unknown. */
const char *kallsyms_find(const struct kallsyms *k, uint64_t address, uint64_t *ret_start,
			  const char **ret_module);
void kallsyms_free(struct kallsyms *k);

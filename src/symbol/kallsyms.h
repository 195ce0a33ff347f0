/* The kernel's own symbols, with modules and BPF programs: asked for one by one where the kernel
 * answers (ksym_ask.h), else /proc/kallsyms as a whole, once. */
#pragma once

#include <stdint.h>

#include "err.h"
#include "ksym_ask.h"
#include "root.h"
#include "symtab.h"

struct kallsyms {
	struct symtab table;  /* group: index into modules, 0 = the kernel itself */
	VEC(char *) modules;  /* "[kernel.kallsyms]", "[ena]", "[bpf]" ... */
	struct ksym_ask *ask; /* NULL = the table is all there is */
};

/* Text of /proc/kallsyms. -EACCES when every address is hidden (kernel.kptr_restrict). */
int kallsyms_parse(const char *text, struct kallsyms *ret, struct err *err);
int kallsyms_read(const struct root *root, struct kallsyms *ret, struct err *err);
/* Ask one by one when this host's kernel can be asked, else read all. */
int kallsyms_open(const struct root *root, struct kallsyms *ret, struct err *err);
/* A symbol that came later (BPF program, KSYMBOL record). */
void kallsyms_add(struct kallsyms *k, uint64_t start, uint32_t len, const char *name, bool bpf);
/* The symbol at address and its module; NULL = unknown. */
const char *kallsyms_find(struct kallsyms *k, uint64_t address, uint64_t *ret_start,
			  const char **ret_module);
void kallsyms_free(struct kallsyms *k);

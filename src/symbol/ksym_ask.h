/* Ask the kernel for the name of one of its addresses. /proc/kallsyms can only be read as a whole:
 * 10 MB of text for the few thousand functions that a recording meets. A program of six
 * instructions prints one address with "%pS" (bpf_snprintf, Linux 5.14) instead. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

enum { KSYM_NAME = 512, KSYM_MODULE = 64 };

struct ksym {
	uint64_t offset; /* of the address behind the symbol's start */
	uint64_t size;
	char name[KSYM_NAME];
	char module[KSYM_MODULE]; /* "[ena]", "[bpf]"; "" = the kernel itself */
};

/* "name+0x10/0x50 [module]"; -EINVAL when it is none (an address without a name is printed as a
 * number). */
int ksym_parse(const char *text, struct ksym *ret);

struct ksym_ask;

/* Needs CAP_BPF and CAP_PERFMON; of this host only. */
int ksym_ask_open(struct ksym_ask **ret, struct err *err);
void ksym_ask_close(struct ksym_ask *a);
/* -ENOENT: no symbol there. Other errors: the kernel would not answer. */
int ksym_ask(struct ksym_ask *a, uint64_t address, struct ksym *ret);

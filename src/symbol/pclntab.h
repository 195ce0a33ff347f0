/* Go's own function table (.gopclntab), which survives stripping: kubelet, containerd, runc and
 * dockerd ship without .symtab. Layouts of Go 1.16 to 1.26. Pure, nothing is trusted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symtab.h"

struct pclntab {
	const uint8_t *bytes; /* the table starts here */
	size_t len;           /* and may reach to here */
	unsigned go_minor;    /* 16, 18 or 20: the first Go 1.x with this layout */
	uint64_t functions;
	/* Address of the code that entries are relative to; 0 = not in the header (always since Go
	 * 1.26; in position-independent files it is a relocation). Absolute before Go 1.18. */
	uint64_t text_start;
	uint64_t names, function_table; /* offsets in bytes */
};

enum {
	PCLNTAB_TEXT_START_AT = 24, /* offset of text_start in the header, Go 1.18 on */
	MODULEDATA_MINPC = 20,      /* words of runtime.moduledata, Go 1.16 to 1.26 */
	MODULEDATA_MAXPC = 21,
	MODULEDATA_TEXT = 22,
	MODULEDATA_ETEXT = 23,
	MODULEDATA_WORDS = 24,
};

/* Do these eight bytes begin like one? */
bool pclntab_may_be(const uint8_t *bytes);
/* Is there a table at bytes? Checks the header and the order of the first functions. */
bool pclntab_open(const void *bytes, size_t len, struct pclntab *ret);
/* Where the code of its first function begins, and where that of its last one ends; relative to
 * text_start from Go 1.18 on. */
void pclntab_range(const struct pclntab *p, uint64_t *ret_start, uint64_t *ret_end);
/* The offset of a table in a section or segment that holds more; false = none. */
bool pclntab_search(const void *bytes, size_t len, size_t *ret_offset, struct pclntab *ret);
/* Add all functions with their exact ranges; text_start as found by the caller (ignored before Go
 * 1.18). The number of functions, 0 when the table is broken. */
size_t pclntab_functions(const struct pclntab *p, uint64_t text_start, struct symtab *out);

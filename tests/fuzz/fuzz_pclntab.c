#include "fuzz.h"
#include "pclntab.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct symtab t = { 0 };
	struct pclntab p;
	size_t at;

	if (pclntab_search(bytes, len, &at, &p)) {
		pclntab_functions(&p, 0x401000, &t);
		symtab_finish(&t);
		for (uint64_t a = 0; a < 0x1000; a += 8)
			symtab_find(&t, 0x401000 + a);
	}
	symtab_free(&t);
	return 0;
}

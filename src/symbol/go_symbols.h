/* Functions of a stripped Go file. Finds the table (also without section headers), then the
 * address of the code in the order runtime.text symbol, header, moduledata; when all fail it gives
 * up, because the start of .text is a wrong guess (C code lies in front of Go's). */
#pragma once

#include "elf_image.h"
#include "symtab.h"

/* `symbols`: what .symtab and .dynsym gave, for runtime.text; functions are appended to out, which
 * may be the same table. The number of functions, 0 = no Go or not to be told. */
size_t go_symbols_add(const struct elf_image *e, const struct symtab *symbols, struct symtab *out);

#include "fuzz.h"
#include "symbol_loader.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct elf_source source = elf_source_of_bytes(bytes, len);
	struct symbol_image *image;

	if (symbol_image_read(&source, &image, NULL) == 0) {
		for (uint64_t a = 0; a < 0x4000; a += 16)
			symtab_find(&image->table, a);
		symbol_image_free(image);
	}
	return 0;
}

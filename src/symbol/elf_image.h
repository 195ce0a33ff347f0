/* What a profiler needs of an ELF file: build id, where it is loaded, its functions. The file is
 * read piece by piece and never mapped (a file that shrinks under a mapping kills the reader), and
 * nothing in it is trusted. Little-endian only; others give -ENOTSUP. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "symtab.h"
#include "vec.h"

/* Where the bytes come from. read_at gives exactly len bytes or a negative errno. */
struct elf_source {
	int (*read_at)(const struct elf_source *src, uint64_t offset, void *ret, size_t len);
	uint64_t size;
	const void *bytes; /* of elf_source_of_bytes */
	int fd;            /* of elf_source_of_fd */
};

struct elf_source elf_source_of_bytes(const void *bytes, size_t len);
int elf_source_of_fd(int fd, struct elf_source *ret, struct err *err);

enum { ELF_MAX_SECTION_BYTES = 64 << 20, ELF_MAX_HEADERS = 4096 };

struct elf_section {
	char name[32];
	uint32_t type, link;
	uint64_t address, offset, size;
};

struct elf_segment {
	uint64_t offset, address, file_size, memory_size;
	uint32_t flags; /* PF_X ... */
};

struct elf_image {
	struct elf_source source;
	VEC(struct elf_section) sections;
	VEC(struct elf_segment) loads; /* PT_LOAD */
	struct elf_segment dynamic;    /* PT_DYNAMIC; file_size 0 = none */
	uint8_t build_id[20];
	uint8_t build_id_len;
	bool pie;
	bool narrow; /* a 32-bit file */
};

int elf_image_open(const struct elf_source *source, struct elf_image *ret, struct err *err);
void elf_image_close(struct elf_image *e);
const struct elf_section *elf_image_section(const struct elf_image *e, const char *name);
/* Bytes of the file, malloc'ed: free them. -EFBIG over ELF_MAX_SECTION_BYTES. */
int elf_image_read(const struct elf_image *e, uint64_t offset, uint64_t size, void **ret);
/* ELF virtual address of a file offset inside an executable segment; false = none. */
bool elf_image_address(const struct elf_image *e, uint64_t file_offset, uint64_t *ret);
bool elf_image_offset(const struct elf_image *e, uint64_t address, uint64_t *ret_file_offset);
/* Functions of .symtab and .dynsym, appended; the number of them. */
int elf_image_symbols(const struct elf_image *e, struct symtab *out);
/* The descriptor of the GNU build id in the bytes of a note section; its length, 0 = none. */
size_t elf_note_build_id(const void *notes, size_t len, uint8_t ret[20]);

#include "elf_image.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "text.h"

enum { SYMBOLS_AT_ONCE = 1024 };

static int read_bytes(const struct elf_source *src, uint64_t offset, void *ret, size_t len)
{
	if (offset > src->size || len > src->size - offset)
		return -ENODATA;
	memcpy(ret, (const uint8_t *)src->bytes + offset, len);
	return 0;
}

static int read_fd(const struct elf_source *src, uint64_t offset, void *ret, size_t len)
{
	if (offset > src->size || len > src->size - offset)
		return -ENODATA;
	for (size_t done = 0; done < len;) {
		ssize_t n = pread(src->fd, (char *)ret + done, len - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		done += (size_t)n;
	}
	return 0;
}

struct elf_source elf_source_of_bytes(const void *bytes, size_t len)
{
	return (struct elf_source){ .read_at = read_bytes, .size = len, .bytes = bytes, .fd = -1 };
}

int elf_source_of_fd(int fd, struct elf_source *ret, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "fstat: %s", strerror(errno));
	*ret = (struct elf_source){ .read_at = read_fd, .size = (uint64_t)st.st_size, .fd = fd };
	return 0;
}

int elf_image_read(const struct elf_image *e, uint64_t offset, uint64_t size, void **ret)
{
	if (size > ELF_MAX_SECTION_BYTES)
		return -EFBIG;
	if (offset > e->source.size || size > e->source.size - offset)
		return -ENODATA;
	void *bytes = malloc(size ? size : 1);
	if (!bytes)
		return -ENOMEM;
	int r = e->source.read_at(&e->source, offset, bytes, size);
	if (r < 0) {
		free(bytes);
		return r;
	}
	*ret = bytes;
	return 0;
}

size_t elf_note_build_id(const void *notes, size_t len, uint8_t ret[20])
{
	const uint8_t *at = notes, *end = at + len;
	Elf64_Nhdr head;

	while ((size_t)(end - at) >= sizeof(head)) {
		memcpy(&head, at, sizeof(head));
		at += sizeof(head);
		uint64_t name = ((uint64_t)head.n_namesz + 3) & ~UINT64_C(3);
		uint64_t desc = ((uint64_t)head.n_descsz + 3) & ~UINT64_C(3);
		if (name + head.n_descsz > (uint64_t)(end - at))
			return 0;
		if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 &&
		    memcmp(at, "GNU", 4) == 0 && head.n_descsz && head.n_descsz <= 20) {
			memcpy(ret, at + name, head.n_descsz);
			return head.n_descsz;
		}
		if (name + desc > (uint64_t)(end - at))
			return 0;
		at += name + desc;
	}
	return 0;
}

static void read_notes(struct elf_image *e, uint64_t offset, uint64_t size)
{
	AUTO_FREE void *notes = NULL;

	if (e->build_id_len || size > 1 << 20 || elf_image_read(e, offset, size, &notes) < 0)
		return;
	e->build_id_len = (uint8_t)elf_note_build_id(notes, size, e->build_id);
}

/* The entries of a 32-bit file's tables, in the shape of a 64-bit one's. */
static Elf64_Phdr phdr_at(const void *bytes, size_t i, bool narrow)
{
	Elf64_Phdr wide;
	Elf32_Phdr ph;

	if (!narrow) {
		memcpy(&wide, (const char *)bytes + i * sizeof(wide), sizeof(wide));
		return wide;
	}
	memcpy(&ph, (const char *)bytes + i * sizeof(ph), sizeof(ph));
	return (Elf64_Phdr){ .p_type = ph.p_type,
			     .p_flags = ph.p_flags,
			     .p_offset = ph.p_offset,
			     .p_vaddr = ph.p_vaddr,
			     .p_filesz = ph.p_filesz,
			     .p_memsz = ph.p_memsz };
}

static Elf64_Shdr shdr_at(const void *bytes, size_t i, bool narrow)
{
	Elf64_Shdr wide;
	Elf32_Shdr sh;

	if (!narrow) {
		memcpy(&wide, (const char *)bytes + i * sizeof(wide), sizeof(wide));
		return wide;
	}
	memcpy(&sh, (const char *)bytes + i * sizeof(sh), sizeof(sh));
	return (Elf64_Shdr){ .sh_name = sh.sh_name,
			     .sh_type = sh.sh_type,
			     .sh_addr = sh.sh_addr,
			     .sh_offset = sh.sh_offset,
			     .sh_size = sh.sh_size,
			     .sh_link = sh.sh_link };
}

static int read_head(const struct elf_source *source, Elf64_Ehdr *ret, bool *ret_narrow)
{
	Elf32_Ehdr head;

	if (source->read_at(source, 0, &head, sizeof(head)) < 0 ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	*ret_narrow = head.e_ident[EI_CLASS] == ELFCLASS32;
	if (!*ret_narrow && source->read_at(source, 0, ret, sizeof(*ret)) < 0)
		return -ENOEXEC;
	if (*ret_narrow)
		*ret = (Elf64_Ehdr){ .e_type = head.e_type,
				     .e_phoff = head.e_phoff,
				     .e_shoff = head.e_shoff,
				     .e_phentsize = head.e_phentsize,
				     .e_phnum = head.e_phnum,
				     .e_shentsize = head.e_shentsize,
				     .e_shnum = head.e_shnum,
				     .e_shstrndx = head.e_shstrndx };
	memcpy(ret->e_ident, head.e_ident, sizeof(ret->e_ident));
	return 0;
}

static int read_segments(struct elf_image *e, const Elf64_Ehdr *head)
{
	size_t entry = e->narrow ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr);
	AUTO_FREE void *bytes = NULL;

	if (!head->e_phnum || head->e_phnum > ELF_MAX_HEADERS || head->e_phentsize != entry)
		return 0;
	int r = elf_image_read(e, head->e_phoff, head->e_phnum * entry, &bytes);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < head->e_phnum; i++) {
		Elf64_Phdr ph = phdr_at(bytes, i, e->narrow);
		if (ph.p_type == PT_NOTE)
			read_notes(e, ph.p_offset, ph.p_filesz);
		if (ph.p_type == PT_DYNAMIC)
			e->dynamic = (struct elf_segment){ .offset = ph.p_offset,
							   .address = ph.p_vaddr,
							   .file_size = ph.p_filesz };
		if (ph.p_type != PT_LOAD)
			continue;
		struct elf_segment load = { ph.p_offset, ph.p_vaddr, ph.p_filesz, ph.p_memsz,
					    ph.p_flags };
		if (!vec_push(&e->loads, load))
			return -ENOMEM;
	}
	return 0;
}

static int read_sections(struct elf_image *e, const Elf64_Ehdr *head)
{
	AUTO_FREE void *bytes = NULL;
	AUTO_FREE void *names = NULL;
	size_t entry = e->narrow ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr);
	uint64_t names_len = 0;

	if (!head->e_shnum || head->e_shnum > ELF_MAX_HEADERS || head->e_shentsize != entry)
		return 0;
	if (elf_image_read(e, head->e_shoff, head->e_shnum * entry, &bytes) < 0)
		return 0; /* cut off behind the code: segments are enough to go on */
	if (head->e_shstrndx < head->e_shnum) {
		Elf64_Shdr sh = shdr_at(bytes, head->e_shstrndx, e->narrow);
		if (sh.sh_size <= 1 << 20 &&
		    elf_image_read(e, sh.sh_offset, sh.sh_size, &names) == 0)
			names_len = sh.sh_size;
	}
	for (unsigned i = 0; i < head->e_shnum; i++) {
		Elf64_Shdr sh = shdr_at(bytes, i, e->narrow);
		struct elf_section section = { .type = sh.sh_type,
					       .link = sh.sh_link,
					       .address = sh.sh_addr,
					       .offset = sh.sh_offset,
					       .size = sh.sh_size };
		if (sh.sh_name < names_len)
			text_copy_n(section.name, sizeof(section.name), (char *)names + sh.sh_name,
				    strnlen((char *)names + sh.sh_name, names_len - sh.sh_name));
		if (sh.sh_type == SHT_NOTE)
			read_notes(e, sh.sh_offset, sh.sh_size);
		if (!vec_push(&e->sections, section))
			return -ENOMEM;
	}
	return 0;
}

int elf_image_open(const struct elf_source *source, struct elf_image *ret, struct err *err)
{
	struct elf_image e = { .source = *source };
	Elf64_Ehdr head;

	if (read_head(source, &head, &e.narrow) < 0)
		return err_set(err, -ENOEXEC, "no ELF file");
	if ((head.e_ident[EI_CLASS] != ELFCLASS64 && !e.narrow) ||
	    head.e_ident[EI_DATA] != ELFDATA2LSB)
		return err_set(err, -ENOTSUP, "ELF file that is not little-endian");
	e.pie = head.e_type == ET_DYN;
	int r = read_segments(&e, &head);
	if (r == 0)
		r = read_sections(&e, &head);
	if (r < 0) {
		elf_image_close(&e);
		return err_set(err, r, "broken ELF headers");
	}
	*ret = e;
	return 0;
}

void elf_image_close(struct elf_image *e)
{
	vec_free(&e->sections);
	vec_free(&e->loads);
}

const struct elf_section *elf_image_section(const struct elf_image *e, const char *name)
{
	for (size_t i = 0; i < e->sections.len; i++)
		if (strcmp(e->sections.items[i].name, name) == 0)
			return &e->sections.items[i];
	return NULL;
}

bool elf_image_address(const struct elf_image *e, uint64_t file_offset, uint64_t *ret)
{
	for (size_t i = 0; i < e->loads.len; i++) {
		const struct elf_segment *s = &e->loads.items[i];
		if (s->flags & PF_X && file_offset >= s->offset &&
		    file_offset - s->offset < s->file_size) {
			*ret = file_offset - s->offset + s->address;
			return true;
		}
	}
	return false;
}

bool elf_image_offset(const struct elf_image *e, uint64_t address, uint64_t *ret_file_offset)
{
	for (size_t i = 0; i < e->loads.len; i++) {
		const struct elf_segment *s = &e->loads.items[i];
		if (address >= s->address && address - s->address < s->file_size) {
			*ret_file_offset = address - s->address + s->offset;
			return true;
		}
	}
	return false;
}

/* The names stay together as they are in the file: copying each one costs more than reading all.
 * Returns where they begin in out->names; negative = could not be read. */
static int64_t add_names(const struct elf_image *e, const struct elf_section *names,
			 struct symtab *out)
{
	size_t base = out->names.len;

	if (names->type != SHT_STRTAB || names->size > ELF_MAX_SECTION_BYTES ||
	    base + names->size > UINT32_MAX / 2 || !buf_reserve(&out->names, names->size + 1) ||
	    e->source.read_at(&e->source, names->offset, out->names.data + base, names->size) < 0)
		return -1;
	out->names.len += names->size;
	buf_add_char(&out->names, '\0');
	/* memcpy@@GLIBC_2.14: the version is no part of the name */
	char *at = out->names.data + base, *end = out->names.data + out->names.len;
	while ((at = memchr(at, '@', (size_t)(end - at)))) {
		if (at > out->names.data + base && at[-1])
			*at = '\0';
		at++;
	}
	return (int64_t)base;
}

/* Of the functions among n symbols, those that have a name. */
static int add_chunk(const Elf64_Sym *symbols, size_t n, uint32_t base, uint64_t names_len,
		     struct symtab *out)
{
	int added = 0;

	for (size_t i = 0; i < n; i++) {
		const Elf64_Sym *sym = &symbols[i];
		unsigned type = ELF64_ST_TYPE(sym->st_info), bind = ELF64_ST_BIND(sym->st_info);
		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || sym->st_shndx == SHN_UNDEF ||
		    sym->st_name >= names_len || !out->names.data[base + sym->st_name])
			continue;
		uint8_t rank = bind == STB_GLOBAL ? 2 : bind == STB_WEAK;
		added += symtab_add_at(out, sym->st_value, sym->st_size, base + sym->st_name, rank);
	}
	return added;
}

static int read_symbols(const struct elf_image *e, uint64_t offset, uint64_t at, size_t n,
			Elf64_Sym *ret)
{
	Elf32_Sym narrow[SYMBOLS_AT_ONCE];

	if (!e->narrow)
		return e->source.read_at(&e->source, offset + at * sizeof(*ret), ret,
					 n * sizeof(*ret));
	int r = e->source.read_at(&e->source, offset + at * sizeof(*narrow), narrow,
				  n * sizeof(*narrow));
	for (size_t i = 0; r == 0 && i < n; i++)
		ret[i] = (Elf64_Sym){ .st_name = narrow[i].st_name,
				      .st_info = narrow[i].st_info,
				      .st_shndx = narrow[i].st_shndx,
				      .st_value = narrow[i].st_value,
				      .st_size = narrow[i].st_size };
	return r;
}

static int add_symbols(const struct elf_image *e, const struct elf_section *section,
		       struct symtab *out)
{
	Elf64_Sym chunk[SYMBOLS_AT_ONCE];
	uint64_t n = section->size / (e->narrow ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym));
	int added = 0;

	if (section->link >= e->sections.len || section->size > ELF_MAX_SECTION_BYTES)
		return 0;
	const struct elf_section *names = &e->sections.items[section->link];
	int64_t base = add_names(e, names, out);
	if (base < 0)
		return 0;
	for (uint64_t at = 0; at < n; at += SYMBOLS_AT_ONCE) {
		size_t here = MIN_OF(n - at, (uint64_t)SYMBOLS_AT_ONCE);
		if (read_symbols(e, section->offset, at, here, chunk) < 0)
			break;
		added += add_chunk(chunk, here, (uint32_t)base, names->size, out);
	}
	return added;
}

int elf_image_symbols(const struct elf_image *e, struct symtab *out)
{
	uint32_t wanted = SHT_DYNSYM; /* .symtab has all of .dynsym's */
	int added = 0;

	for (size_t i = 0; i < e->sections.len; i++)
		if (e->sections.items[i].type == SHT_SYMTAB && e->sections.items[i].size)
			wanted = SHT_SYMTAB;
	for (size_t i = 0; i < e->sections.len; i++)
		if (e->sections.items[i].type == wanted)
			added += add_symbols(e, &e->sections.items[i], out);
	return added;
}

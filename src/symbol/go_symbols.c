#include "go_symbols.h"

#include <elf.h>
#include <string.h>

#include "auto.h"
#include "pclntab.h"

struct go_file {
	const struct elf_image *e;
	struct pclntab table;
	uint64_t table_address;
	void *held;   /* memory that table points into */
	void *relocs; /* Elf64_Rela, of position-independent files */
	size_t n_relocs;
};

enum {
	SEARCH_PIECE = 1 << 20,
	SEARCH_TRIES = 16, /* places in a file that begin like a table and are none */
};

/* The table in a range of the file, or at its very begin. */
static bool search_range(struct go_file *g, uint64_t offset, uint64_t size, uint64_t address,
			 bool at_begin)
{
	void *bytes;
	size_t at = 0;

	if (elf_image_read(g->e, offset, size, &bytes) < 0)
		return false;
	if (!(at_begin ? pclntab_open(bytes, size, &g->table)
		       : pclntab_search(bytes, size, &at, &g->table))) {
		free(bytes);
		return false;
	}
	g->held = bytes;
	g->table_address = address + at;
	return true;
}

/* A segment may be larger than what is read at once: the table is looked for piece by piece, and
 * then read from its begin. */
static bool search_segment(struct go_file *g, const struct elf_segment *s)
{
	uint64_t size = MIN_OF(s->file_size, g->e->source.size);
	unsigned tries = 0;

	for (uint64_t at = 0; at < size; at += SEARCH_PIECE) {
		AUTO_FREE uint8_t *bytes = NULL;
		uint64_t len = MIN_OF(size - at, (uint64_t)SEARCH_PIECE);
		if (elf_image_read(g->e, s->offset + at, len, (void **)&bytes) < 0)
			return false;
		for (uint64_t i = 0; i + 8 <= len; i += 8) {
			if (!pclntab_may_be(bytes + i) || tries++ >= SEARCH_TRIES)
				continue;
			uint64_t rest = MIN_OF(size - at - i, (uint64_t)ELF_MAX_SECTION_BYTES);
			if (search_range(g, s->offset + at + i, rest, s->address + at + i, true))
				return true;
		}
	}
	return false;
}

/* The section when it is there; else where linkers put the table; else every data segment. */
static bool find_table(struct go_file *g)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro",
					     ".rodata" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const struct elf_section *s = elf_image_section(g->e, names[i]);
		if (s && s->type != SHT_NOBITS &&
		    search_range(g, s->offset, s->size, s->address, false))
			return true;
	}
	for (size_t i = 0; i < g->e->loads.len; i++) {
		const struct elf_segment *s = &g->e->loads.items[i];
		if (!(s->flags & PF_X) && search_segment(g, s))
			return true;
	}
	return false;
}

/* DT_RELA and DT_RELASZ: where the loader finds the relocations, section headers or not. */
static bool dynamic_relocs(const struct elf_image *e, uint64_t *ret_offset, uint64_t *ret_size)
{
	AUTO_FREE void *bytes = NULL;
	uint64_t address = 0, size = 0, entry = 0;

	if (!e->dynamic.file_size ||
	    elf_image_read(e, e->dynamic.offset, e->dynamic.file_size, &bytes) < 0)
		return false;
	for (size_t i = 0; i < e->dynamic.file_size / sizeof(Elf64_Dyn); i++) {
		Elf64_Dyn d;
		memcpy(&d, (char *)bytes + i * sizeof(d), sizeof(d));
		if (d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_RELA)
			address = d.d_un.d_ptr;
		else if (d.d_tag == DT_RELASZ)
			size = d.d_un.d_val;
		else if (d.d_tag == DT_RELAENT)
			entry = d.d_un.d_val;
	}
	*ret_size = size;
	return address && entry == sizeof(Elf64_Rela) && elf_image_offset(e, address, ret_offset);
}

static void read_relocs(struct go_file *g)
{
	const struct elf_section *s = elf_image_section(g->e, ".rela.dyn");
	uint64_t offset, size;

	if (g->relocs || !g->e->pie)
		return;
	if (s && s->type == SHT_RELA) {
		offset = s->offset;
		size = s->size;
	} else if (!dynamic_relocs(g->e, &offset, &size)) {
		return;
	}
	if (elf_image_read(g->e, offset, size, &g->relocs) == 0)
		g->n_relocs = size / sizeof(Elf64_Rela);
}

/* "load address plus addend": the only kind whose value is known without loading. */
static bool reloc_is_relative(const Elf64_Rela *r)
{
	return (ELF64_R_TYPE(r->r_info) == R_X86_64_RELATIVE ||
		ELF64_R_TYPE(r->r_info) == R_AARCH64_RELATIVE) &&
	       ELF64_R_SYM(r->r_info) == 0 && r->r_addend > 0;
}

static Elf64_Rela reloc_at(const struct go_file *g, size_t i)
{
	Elf64_Rela r;
	memcpy(&r, (char *)g->relocs + i * sizeof(r), sizeof(r));
	return r;
}

/* The addend of the relocation at address; false = none. Linear: asked a few times per file. */
static bool reloc_value(struct go_file *g, uint64_t address, uint64_t *ret)
{
	read_relocs(g);
	for (size_t i = 0; i < g->n_relocs; i++) {
		Elf64_Rela r = reloc_at(g, i);
		if (r.r_offset == address && reloc_is_relative(&r)) {
			*ret = (uint64_t)r.r_addend;
			return true;
		}
	}
	return false;
}

/* The word at an address as the loader would leave it (with load address 0). */
static bool word_at(struct go_file *g, uint64_t address, uint64_t *ret)
{
	uint64_t offset;

	if (g->e->pie && reloc_value(g, address, ret))
		return true;
	return elf_image_offset(g->e, address, &offset) &&
	       g->e->source.read_at(&g->e->source, offset, ret, 8) == 0;
}

/* The code that the table describes must be code of the file, or the start is not the right one. */
static bool text_fits(const struct go_file *g, uint64_t text)
{
	uint64_t first, end;

	pclntab_range(&g->table, &first, &end);
	if (__builtin_add_overflow(text, first, &first) || __builtin_add_overflow(text, end, &end))
		return false;
	for (size_t i = 0; i < g->e->loads.len; i++) {
		const struct elf_segment *s = &g->e->loads.items[i];
		if ((s->flags & PF_X) && first >= s->address && end <= s->address + s->file_size)
			return true;
	}
	return false;
}

/* runtime.moduledata is known by its pointer to the table, and by a code range that is exactly that
 * of the table's functions: Go itself refuses to start otherwise (moduledataverify1). */
static bool text_of_moduledata(struct go_file *g, uint64_t address, uint64_t *ret)
{
	uint64_t first, minpc, maxpc, text, etext, code, code_end;

	if (!word_at(g, address, &first) || first != g->table_address ||
	    !word_at(g, address + 8 * MODULEDATA_MINPC, &minpc) ||
	    !word_at(g, address + 8 * MODULEDATA_MAXPC, &maxpc) ||
	    !word_at(g, address + 8 * MODULEDATA_TEXT, &text) ||
	    !word_at(g, address + 8 * MODULEDATA_ETEXT, &etext))
		return false;
	pclntab_range(&g->table, &code, &code_end);
	if (!text || text > minpc || minpc >= maxpc || maxpc > etext || minpc - text != code ||
	    maxpc - text != code_end)
		return false;
	*ret = text;
	return true;
}

static bool scan_range(struct go_file *g, uint64_t offset, uint64_t size, uint64_t address,
		       uint64_t *ret)
{
	AUTO_FREE void *bytes = NULL;

	if (elf_image_read(g->e, offset, size, &bytes) < 0)
		return false;
	for (uint64_t at = 0; at + 8 * MODULEDATA_WORDS <= size; at += 8) {
		uint64_t word;
		memcpy(&word, (char *)bytes + at, 8);
		if (word == g->table_address && text_of_moduledata(g, address + at, ret))
			return true;
	}
	return false;
}

static bool scan_section(struct go_file *g, const char *name, uint64_t *ret)
{
	const struct elf_section *s = elf_image_section(g->e, name);

	return s && s->type != SHT_NOBITS && scan_range(g, s->offset, s->size, s->address, ret);
}

static bool text_by_moduledata(struct go_file *g, uint64_t *ret)
{
	static const char *const names[] = { ".go.module", ".noptrdata", ".data", ".data.rel.ro" };

	read_relocs(g);
	for (size_t i = 0; i < g->n_relocs; i++) {
		Elf64_Rela r = reloc_at(g, i);
		if (reloc_is_relative(&r) && (uint64_t)r.r_addend == g->table_address &&
		    text_of_moduledata(g, r.r_offset, ret))
			return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (scan_section(g, names[i], ret))
			return true;
	/* without section headers, or under another name: its data, whole */
	for (size_t i = 0; i < g->e->loads.len; i++) {
		const struct elf_segment *s = &g->e->loads.items[i];
		uint64_t size = MIN_OF(s->file_size, (uint64_t)ELF_MAX_SECTION_BYTES);
		if (s->flags & PF_W && scan_range(g, s->offset, size, s->address, ret))
			return true;
	}
	return false;
}

static bool text_by_symbol(const struct symtab *symbols, uint64_t *ret)
{
	for (size_t i = 0; i < symbols->entries.len; i++) {
		const struct symtab_entry *entry = &symbols->entries.items[i];
		if (strcmp(symtab_name(symbols, entry), "runtime.text") == 0 && entry->start) {
			*ret = entry->start;
			return true;
		}
	}
	return false;
}

/* Each answer must name code of the file; without any, names would be guesses. */
static bool text_start(struct go_file *g, const struct symtab *symbols, uint64_t *ret)
{
	if (g->table.go_minor < 18) {
		*ret = 0; /* addresses are absolute */
		return text_fits(g, 0);
	}
	if (text_by_symbol(symbols, ret) && text_fits(g, *ret))
		return true;
	if (g->table.text_start && !g->e->pie) {
		*ret = g->table.text_start;
		return text_fits(g, *ret);
	}
	if (g->e->pie && reloc_value(g, g->table_address + PCLNTAB_TEXT_START_AT, ret) &&
	    text_fits(g, *ret))
		return true;
	/* A value in a position-independent file's header that no relocation is known for may be
	 * any (packed relocations are not read): moduledata has the proof, or there is none. */
	return text_by_moduledata(g, ret) && text_fits(g, *ret);
}

size_t go_symbols_add(const struct elf_image *e, const struct symtab *symbols, struct symtab *out)
{
	struct go_file g = { .e = e };
	uint64_t base;
	size_t added = 0;

	if (!e->narrow && find_table(&g) && text_start(&g, symbols, &base))
		added = pclntab_functions(&g.table, base, out);
	free(g.held);
	free(g.relocs);
	return added;
}

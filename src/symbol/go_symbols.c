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

static bool search_range(struct go_file *g, uint64_t offset, uint64_t size, uint64_t address)
{
	void *bytes;
	size_t at;

	if (elf_image_read(g->e, offset, size, &bytes) < 0)
		return false;
	if (!pclntab_search(bytes, size, &at, &g->table)) {
		free(bytes);
		return false;
	}
	g->held = bytes;
	g->table_address = address + at;
	return true;
}

/* The section when it is there; else where linkers put the table; else every data segment. */
static bool find_table(struct go_file *g)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro",
					     ".rodata" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const struct elf_section *s = elf_image_section(g->e, names[i]);
		if (s && s->type != SHT_NOBITS && search_range(g, s->offset, s->size, s->address))
			return true;
	}
	for (size_t i = 0; i < g->e->loads.len; i++) {
		const struct elf_segment *s = &g->e->loads.items[i];
		uint64_t size = MIN_OF(s->file_size, (uint64_t)ELF_MAX_SECTION_BYTES);
		if (!(s->flags & PF_X) && search_range(g, s->offset, size, s->address))
			return true;
	}
	return false;
}

/* PT_DYNAMIC is found through its section or not at all: a file without section headers and with
 * relocations is left alone. */
static void read_relocs(struct go_file *g)
{
	const struct elf_section *s = elf_image_section(g->e, ".rela.dyn");

	if (g->relocs || !g->e->pie || !s || s->type != SHT_RELA ||
	    elf_image_read(g->e, s->offset, s->size, &g->relocs) < 0)
		return;
	g->n_relocs = s->size / sizeof(Elf64_Rela);
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
		if (r.r_offset == address && r.r_addend > 0) {
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

/* runtime.moduledata is known by its plausible code range around the table's own functions. */
static bool text_of_moduledata(struct go_file *g, uint64_t address, uint64_t *ret)
{
	uint64_t first, minpc, maxpc, text, etext;

	if (!word_at(g, address, &first) || first != g->table_address ||
	    !word_at(g, address + 8 * MODULEDATA_MINPC, &minpc) ||
	    !word_at(g, address + 8 * MODULEDATA_MAXPC, &maxpc) ||
	    !word_at(g, address + 8 * MODULEDATA_TEXT, &text) ||
	    !word_at(g, address + 8 * MODULEDATA_ETEXT, &etext))
		return false;
	if (!text || text > minpc || minpc >= maxpc || maxpc > etext)
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
		if (r.r_addend > 0 && (uint64_t)r.r_addend == g->table_address &&
		    text_of_moduledata(g, r.r_offset, ret))
			return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (scan_section(g, names[i], ret))
			return true;
	/* a file without section headers: its data, whole */
	for (size_t i = 0; !g->e->sections.len && i < g->e->loads.len; i++) {
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

static bool text_start(struct go_file *g, const struct symtab *symbols, uint64_t *ret)
{
	if (g->table.go_minor < 18) {
		*ret = 0; /* addresses are absolute; a position-independent file has no base yet */
		return true;
	}
	if (text_by_symbol(symbols, ret))
		return true;
	if (g->table.text_start && !g->e->pie) {
		*ret = g->table.text_start;
		return true;
	}
	if (g->e->pie && reloc_value(g, g->table_address + PCLNTAB_TEXT_START_AT, ret))
		return true;
	if (text_by_moduledata(g, ret))
		return true;
	/* a linked-in value without relocation, as Go's own linker writes for PIE */
	*ret = g->table.text_start;
	return *ret != 0;
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

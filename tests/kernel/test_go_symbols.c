/* Stripped Go programs as Debian ships them: every name that a surviving dynamic symbol confirms
 * must be right, the runtime's own functions must be there. */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf_image.h"
#include "go_symbols.h"
#include "pclntab.h"
#include "symbol_loader.h"

static const char *const known[] = { "runtime.main", "runtime.mallocgc", "main.main",
				     "runtime.schedule", "runtime.gcBgMarkWorker" };

static bool has_function(const struct symtab *t, const char *name)
{
	for (size_t i = 0; i < t->entries.len; i++)
		if (strcmp(symtab_name(t, &t->entries.items[i]), name) == 0)
			return t->entries.items[i].size > 0;
	return false;
}

/* Versions of one function for two calling conventions have two names. */
static bool same_name(const char *a, const char *b)
{
	size_t n = strlen(b);
	return strcmp(a, b) == 0 || (strncmp(a, b, n) == 0 && strcmp(a + n, ".abi0") == 0);
}

/* A copy of the program that may be changed. */
struct altered {
	char *bytes;
	size_t len;
	uint64_t table_offset, table_address;
	Elf64_Rela *relocs;
	size_t n_relocs;
};

static bool find_table(const struct elf_image *elf, struct altered *a)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro" };
	struct pclntab table;
	size_t at;

	for (size_t i = 0; i < 2; i++) {
		const struct elf_section *s = elf_image_section(elf, names[i]);
		if (!s || !pclntab_search(a->bytes + s->offset, s->size, &at, &table))
			continue;
		a->table_offset = s->offset + at;
		a->table_address = s->address + at;
		return true;
	}
	return false;
}

static bool altered_open(const struct elf_image *elf, struct altered *a)
{
	const struct elf_section *rela = elf_image_section(elf, ".rela.dyn");

	*a = (struct altered){ .len = elf->source.size, .bytes = malloc(elf->source.size) };
	if (!a->bytes || elf->source.read_at(&elf->source, 0, a->bytes, a->len) < 0 ||
	    !find_table(elf, a)) {
		free(a->bytes);
		return false;
	}
	if (elf->pie && rela) {
		a->relocs = (Elf64_Rela *)(a->bytes + rela->offset);
		a->n_relocs = rela->size / sizeof(Elf64_Rela);
	}
	Elf64_Ehdr *head = (Elf64_Ehdr *)a->bytes;
	head->e_shoff = head->e_shnum = head->e_shstrndx = 0;
	return true;
}

/* As Go 1.26 writes it: no start of the code in the table, and no relocation that would set it. */
static void drop_text_start(struct altered *a)
{
	uint64_t at = a->table_address + PCLNTAB_TEXT_START_AT;

	memset(a->bytes + a->table_offset + PCLNTAB_TEXT_START_AT, 0, 8);
	for (size_t i = 0; i < a->n_relocs; i++)
		if (a->relocs[i].r_offset == at)
			a->relocs[i].r_info = R_X86_64_NONE;
}

/* runtime.moduledata is no more known as such: nothing points to the table. */
static void drop_moduledata(struct altered *a)
{
	for (size_t i = 0; i < a->n_relocs; i++)
		if ((uint64_t)a->relocs[i].r_addend == a->table_address)
			a->relocs[i].r_addend++;
	for (size_t at = 0; at + 8 <= a->len; at += 8)
		if (memcmp(a->bytes + at, &a->table_address, 8) == 0)
			a->bytes[at]++;
}

/* The functions of the changed file: the same as those of the whole one, or none at all. */
static int check_altered(const char *path, const char *what, const struct altered *a,
			 const struct symtab *whole, bool expect_none)
{
	struct elf_source source = elf_source_of_bytes(a->bytes, a->len);
	struct symtab none = { 0 }, go = { 0 };
	struct elf_image elf;
	int bad;

	if (elf_image_open(&source, &elf, NULL) < 0)
		return 1;
	go_symbols_add(&elf, &none, &go);
	symtab_finish(&go);
	bad = go.entries.len != (expect_none ? 0 : whole->entries.len);
	for (size_t i = 0; !bad && i < go.entries.len; i++)
		bad = go.entries.items[i].start != whole->entries.items[i].start ||
		      go.entries.items[i].size != whole->entries.items[i].size ||
		      strcmp(symtab_name(&go, &go.entries.items[i]),
			     symtab_name(whole, &whole->entries.items[i])) != 0;
	printf("%s %s: %zu functions, %s\n", path, what, go.entries.len,
	       bad           ? "WRONG"
	       : expect_none ? "as it should be"
			     : "the same");
	symtab_free(&go);
	elf_image_close(&elf);
	return bad;
}

/* The same program without section headers, as newer Go writes it, and where nothing is proven. */
static int check_headless(const char *path, const struct elf_image *elf, const struct symtab *whole)
{
	struct altered a;
	int bad;

	if (!altered_open(elf, &a)) {
		printf("%s: no table found to work on\n", path);
		return 1;
	}
	bad = check_altered(path, "without section headers", &a, whole, false);
	drop_text_start(&a);
	bad |= check_altered(path, "without the start of its code", &a, whole, false);
	drop_moduledata(&a);
	bad |= check_altered(path, "without any proof", &a, whole, true);
	if (a.n_relocs) { /* a value that no relocation is known for */
		uint64_t guess = 0x1000;
		memcpy(a.bytes + a.table_offset + PCLNTAB_TEXT_START_AT, &guess, 8);
		bad |= check_altered(path, "with a start that nothing confirms", &a, whole, true);
	}
	free(a.bytes);
	return bad;
}

static int check(const char *path)
{
	struct symtab dynamic = { 0 }, go = { 0 };
	struct elf_source source;
	struct elf_image elf;
	int fd = open(path, O_RDONLY | O_CLOEXEC), bad = 0;
	size_t same = 0, other = 0;

	if (fd < 0)
		return 77;
	if (elf_source_of_fd(fd, &source, NULL) < 0 || elf_image_open(&source, &elf, NULL) < 0)
		return 1;
	if (elf_image_section(&elf, ".symtab")) {
		printf("%s is not stripped\n", path);
		return 77;
	}
	elf_image_symbols(&elf, &dynamic);
	symtab_finish(&dynamic);
	size_t n = go_symbols_add(&elf, &dynamic, &go);
	symtab_finish(&go);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!has_function(&go, known[i])) {
			printf("%s: no %s\n", path, known[i]);
			bad = 1;
		}
	for (size_t i = 0; i < dynamic.entries.len; i++) {
		const struct symtab_entry *d = &dynamic.entries.items[i];
		const struct symtab_entry *g = symtab_find(&go, d->start);
		if (!g || g->start != d->start)
			continue;
		if (same_name(symtab_name(&dynamic, d), symtab_name(&go, g)))
			same++;
		else
			other++;
	}
	/* linkname aliases and hashed type names differ by design; a wrong base makes all differ */
	printf("%s: %zu functions; %zu dynamic symbols agree, %zu have another name\n", path, n,
	       same, other);
	if (n < 1000 || other > same / 10)
		bad = 1;
	bad |= check_headless(path, &elf, &go);
	symtab_free(&dynamic);
	symtab_free(&go);
	elf_image_close(&elf);
	close(fd);
	return bad;
}

int main(void)
{
	static const char *const paths[] = { "/usr/bin/containerd", "/usr/sbin/runc",
					     "/usr/bin/runc",       "/usr/sbin/dockerd",
					     "/usr/bin/docker",     "/usr/bin/podman",
					     "/usr/bin/prometheus" };
	int bad = 0, seen = 0;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		int r = check(paths[i]);
		if (r == 77)
			continue;
		seen++;
		bad |= r;
	}
	if (!seen)
		printf("skipped: none of containerd, runc, dockerd is installed (docker.io)\n");
	return seen ? bad : 77;
}

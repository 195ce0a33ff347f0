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

/* The same program as Go 1.26 would write it (no start of the code in the table) and without
 * section headers: the same functions at the same places. Position-independent ones would need
 * relocations, which are found by their section. */
static int check_headless(const char *path, const struct elf_image *elf, const struct symtab *whole)
{
	const struct elf_section *table = elf_image_section(elf, ".gopclntab");
	struct symtab none = { 0 }, go = { 0 };
	struct elf_image headless;
	struct elf_source source;
	void *copy;
	int bad = 0;

	if (elf->pie || !table || elf_image_read(elf, 0, elf->source.size, &copy) < 0)
		return 0;
	Elf64_Ehdr *head = copy;
	head->e_shoff = head->e_shnum = head->e_shstrndx = 0;
	memset((char *)copy + table->offset + PCLNTAB_TEXT_START_AT, 0, 8);
	source = elf_source_of_bytes(copy, elf->source.size);
	if (elf_image_open(&source, &headless, NULL) < 0)
		return 1;
	go_symbols_add(&headless, &none, &go);
	symtab_finish(&go);
	printf("%s without section headers and start: %zu functions\n", path, go.entries.len);
	bad = go.entries.len != whole->entries.len;
	for (size_t i = 0; !bad && i < go.entries.len; i++)
		bad = go.entries.items[i].start != whole->entries.items[i].start ||
		      strcmp(symtab_name(&go, &go.entries.items[i]),
			     symtab_name(whole, &whole->entries.items[i])) != 0;
	symtab_free(&go);
	elf_image_close(&headless);
	free(copy);
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
	static const char *const paths[] = { "/usr/bin/containerd", "/usr/bin/runc",
					     "/usr/sbin/dockerd" };
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

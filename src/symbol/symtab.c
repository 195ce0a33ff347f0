#include "symtab.h"

#include <string.h>

#include "auto.h"

bool symtab_add(struct symtab *t, uint64_t start, uint64_t size, const char *name, size_t name_len,
		uint8_t rank, uint32_t group)
{
	if (!name_len || t->entries.len >= SYMTAB_MAX || t->names.len > UINT32_MAX / 2)
		return false;
	struct symtab_entry entry = {
		.start = start,
		.size = (uint32_t)MIN_OF(size, (uint64_t)UINT32_MAX),
		.name = (uint32_t)t->names.len,
		.rank = rank,
		.group = group,
	};
	buf_add(&t->names, name, MIN_OF(name_len, (size_t)SYMTAB_MAX_NAME));
	buf_add_char(&t->names, '\0');
	return !t->names.failed && vec_push(&t->entries, entry);
}

static int compare_entries(const void *a_, const void *b_)
{
	const struct symtab_entry *a = a_, *b = b_;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (!a->size != !b->size) /* a sized name is the better one */
		return a->size ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank > b->rank ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

void symtab_finish(struct symtab *t)
{
	size_t kept = 0;

	vec_sort(&t->entries, compare_entries);
	for (size_t i = 0; i < t->entries.len; i++)
		if (!kept || t->entries.items[kept - 1].start != t->entries.items[i].start)
			t->entries.items[kept++] = t->entries.items[i];
	t->entries.len = kept;
	if (kept && kept < t->entries.cap) {
		void *smaller = realloc(t->entries.items, kept * sizeof(*t->entries.items));
		if (smaller) {
			t->entries.items = smaller;
			t->entries.cap = kept;
		}
	}
	t->sorted = true;
}

void symtab_fill_sizes(struct symtab *t, uint32_t most)
{
	for (size_t i = 0; i < t->entries.len; i++) {
		struct symtab_entry *e = &t->entries.items[i];
		uint64_t size = most;
		if (i + 1 < t->entries.len && e[1].start - e->start < size)
			size = e[1].start - e->start;
		if (!e->size)
			e->size = (uint32_t)size;
	}
}

const struct symtab_entry *symtab_find(const struct symtab *t, uint64_t address)
{
	size_t low = 0, high = t->entries.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (t->entries.items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	const struct symtab_entry *e = &t->entries.items[low - 1];
	uint64_t behind = address - e->start;
	return behind < e->size || behind == 0 ? e : NULL;
}

const char *symtab_name(const struct symtab *t, const struct symtab_entry *entry)
{
	return t->names.data + entry->name;
}

size_t symtab_bytes(const struct symtab *t)
{
	return t->entries.cap * sizeof(*t->entries.items) + t->names.cap;
}

void symtab_free(struct symtab *t)
{
	vec_free(&t->entries);
	buf_free(&t->names);
	t->sorted = false;
}

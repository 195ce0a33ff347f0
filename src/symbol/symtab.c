#include "symtab.h"

#include <string.h>

#include "auto.h"

enum { RADIX_BITS = 11, RADIX_WAYS = 1 << RADIX_BITS, RADIX_LEAST = 4096 };

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

bool symtab_add_at(struct symtab *t, uint64_t start, uint64_t size, uint32_t name, uint8_t rank)
{
	struct symtab_entry entry = {
		.start = start,
		.size = (uint32_t)MIN_OF(size, (uint64_t)UINT32_MAX),
		.name = name,
		.rank = rank,
	};
	return t->entries.len < SYMTAB_MAX && vec_push(&t->entries, entry);
}

static int compare_entries(const void *a_, const void *b_)
{
	const struct symtab_entry *a = a_, *b = b_;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* Of two names for one place: the sized one, the global one, then as perf chooses: the one with
 * fewer underscores before it, the longer one. */
static bool better(const struct symtab *t, const struct symtab_entry *a,
		   const struct symtab_entry *b)
{
	const char *x = symtab_name(t, a), *y = symtab_name(t, b);
	size_t x_marks = strspn(x, "_"), y_marks = strspn(y, "_");

	if (!a->size != !b->size)
		return a->size;
	if (a->rank != b->rank)
		return a->rank > b->rank;
	if (x_marks != y_marks)
		return x_marks < y_marks;
	return strlen(x) > strlen(y);
}

/* One pass of a radix sort by 11 bits of the start; false when all have the same. */
static bool radix_pass(const struct symtab_entry *from, struct symtab_entry *to, size_t n,
		       unsigned shift)
{
	uint32_t at[RADIX_WAYS] = { 0 }, next = 0;

	for (size_t i = 0; i < n; i++)
		at[from[i].start >> shift & (RADIX_WAYS - 1)]++;
	if (at[from[0].start >> shift & (RADIX_WAYS - 1)] == n)
		return false;
	for (unsigned way = 0; way < RADIX_WAYS; way++) {
		uint32_t count = at[way];
		at[way] = next;
		next += count;
	}
	for (size_t i = 0; i < n; i++)
		to[at[from[i].start >> shift & (RADIX_WAYS - 1)]++] = from[i];
	return true;
}

/* By start. Symbol tables are large and sorted once each: comparing would be most of their cost. */
static void sort_entries(struct symtab *t)
{
	size_t n = t->entries.len;
	struct symtab_entry *spare = n >= RADIX_LEAST ? malloc(n * sizeof(*spare)) : NULL;

	if (!spare) {
		vec_sort(&t->entries, compare_entries);
		return;
	}
	struct symtab_entry *from = t->entries.items, *to = spare;
	for (unsigned shift = 0; shift < 64; shift += RADIX_BITS)
		if (radix_pass(from, to, n, shift)) {
			struct symtab_entry *sorted = to;
			to = from;
			from = sorted;
		}
	if (from == spare)
		memcpy(t->entries.items, spare, n * sizeof(*spare));
	free(spare);
}

void symtab_finish(struct symtab *t)
{
	size_t kept = 0;

	sort_entries(t);
	for (size_t i = 0; i < t->entries.len; i++) {
		const struct symtab_entry *e = &t->entries.items[i];
		if (!kept || t->entries.items[kept - 1].start != e->start)
			t->entries.items[kept++] = *e;
		else if (better(t, e, &t->entries.items[kept - 1]))
			t->entries.items[kept - 1] = *e;
	}
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

size_t symtab_behind(const struct symtab *t, size_t n, uint64_t address)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (t->entries.items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct symtab_entry *symtab_find(const struct symtab *t, uint64_t address)
{
	size_t low = symtab_behind(t, t->entries.len, address);

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

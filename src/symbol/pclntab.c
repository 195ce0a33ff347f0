#include "pclntab.h"

#include <string.h>

#include "auto.h"

enum { PCLNTAB_CHECKED = 64 }; /* functions whose order is checked on opening */

static uint64_t get(const struct pclntab *p, uint64_t at, unsigned size)
{
	uint64_t value = 0;
	if (at <= p->len && size <= p->len - at)
		memcpy(&value, p->bytes + at, size);
	return value;
}

static unsigned layout_of(uint32_t magic)
{
	switch (magic) {
	case 0xfffffff1:
		return 20;
	case 0xfffffff0:
		return 18;
	case 0xfffffffa:
		return 16;
	default:
		return 0;
	}
}

/* Entry i of the function table: where it starts, relative to text_start from Go 1.18 on. The
 * entry behind the last one is the end of the code. */
static uint64_t entry_start(const struct pclntab *p, uint64_t i)
{
	unsigned word = p->go_minor >= 18 ? 4 : 8;
	return get(p, p->function_table + i * 2 * word, word);
}

static uint64_t entry_function(const struct pclntab *p, uint64_t i)
{
	unsigned word = p->go_minor >= 18 ? 4 : 8;
	return get(p, p->function_table + i * 2 * word + word, word);
}

bool pclntab_may_be(const uint8_t *b)
{
	return b[1] == 0xff && b[2] == 0xff && b[3] == 0xff && b[4] == 0 && b[5] == 0 &&
	       b[7] == 8 && (b[0] == 0xf1 || b[0] == 0xf0 || b[0] == 0xfa);
}

bool pclntab_open(const void *bytes, size_t len, struct pclntab *ret)
{
	struct pclntab p = { .bytes = bytes, .len = len };

	if (len < 80)
		return false;
	p.go_minor = layout_of((uint32_t)get(&p, 0, 4));
	uint64_t quantum = get(&p, 6, 1), pointer = get(&p, 7, 1);
	if (!p.go_minor || get(&p, 4, 2) || (quantum != 1 && quantum != 2 && quantum != 4) ||
	    pointer != 8)
		return false;
	p.functions = get(&p, 8, 8);
	bool relative = p.go_minor >= 18;
	p.text_start = relative ? get(&p, PCLNTAB_TEXT_START_AT, 8) : 0;
	p.names = get(&p, relative ? 32 : 24, 8);
	p.function_table = get(&p, relative ? 64 : 56, 8);
	uint64_t entry = relative ? 8 : 16;
	if (!p.functions || p.functions > SYMTAB_MAX || p.names >= len || p.function_table >= len ||
	    p.functions * entry + entry / 2 > len - p.function_table)
		return false;
	for (uint64_t i = 0; i < MIN_OF(p.functions, (uint64_t)PCLNTAB_CHECKED); i++)
		if (entry_start(&p, i) >= entry_start(&p, i + 1))
			return false;
	*ret = p;
	return true;
}

void pclntab_range(const struct pclntab *p, uint64_t *ret_start, uint64_t *ret_end)
{
	*ret_start = entry_start(p, 0);
	*ret_end = entry_start(p, p->functions);
}

bool pclntab_search(const void *bytes, size_t len, size_t *ret_offset, struct pclntab *ret)
{
	const uint8_t *b = bytes;

	/* the linker aligns the table to 32, at least to a word */
	for (size_t at = 0; at + 8 <= len; at += 8) {
		if (pclntab_may_be(b + at) && pclntab_open(b + at, len - at, ret)) {
			*ret_offset = at;
			return true;
		}
	}
	return false;
}

size_t pclntab_functions(const struct pclntab *p, uint64_t text_start, struct symtab *out)
{
	uint64_t base = p->go_minor >= 18 ? text_start : 0;
	unsigned name_at = p->go_minor >= 18 ? 4 : 8;
	size_t added = 0;

	for (uint64_t i = 0; i < p->functions; i++) {
		uint64_t start = entry_start(p, i), end = entry_start(p, i + 1);
		uint64_t function = entry_function(p, i);
		if (start >= end || function >= p->len - p->function_table)
			continue;
		uint64_t name = get(p, p->function_table + function + name_at, 4);
		if (name >= p->len - p->names)
			continue;
		const char *text = (const char *)p->bytes + p->names + name;
		size_t room = p->len - p->names - name;
		size_t name_len = strnlen(text, MIN_OF(room, (size_t)SYMTAB_MAX_NAME));
		added += symtab_add(out, base + start, end - start, text, name_len, 1, 0);
	}
	return added;
}

#include <string.h>

#include "buf.h"
#include "check.h"
#include "pclntab.h"

static void put(struct buf *b, uint64_t value, unsigned size)
{
	buf_add(b, &value, size);
}

/* Three functions at 0x100, 0x180 and 0x200 up to 0x280, as each Go version lays them out. */
static void make_table(struct buf *b, uint32_t magic, uint64_t text_start)
{
	bool relative = magic != 0xfffffffa;
	unsigned word = relative ? 4 : 8;
	uint64_t header = relative ? 72 : 64, names = 32;
	uint64_t table = header + names, functions = 3 * 2 * word + word;

	put(b, magic, 4);
	put(b, 0, 2);
	put(b, 1, 1);
	put(b, 8, 1);
	put(b, 3, 8);
	put(b, 1, 8);
	if (relative)
		put(b, text_start, 8);
	put(b, header, 8); /* names */
	put(b, 0, 8);
	put(b, 0, 8);
	put(b, 0, 8);
	put(b, table, 8);
	buf_add(b, "runtime.text\0main.main\0main.f\0\0\0", 32);
	static const uint32_t name_at[] = { 0, 13, 23 };
	for (unsigned i = 0; i < 3; i++) {
		put(b, 0x100 + i * 0x80, word);
		put(b, functions + i * (word + 4), word);
	}
	put(b, 0x280, word);
	for (unsigned i = 0; i < 3; i++) {
		put(b, 0x100 + i * 0x80, word);
		put(b, name_at[i], 4);
	}
	for (int i = 0; i < 4; i++)
		put(b, 0, 8);
}

static void check_layout(uint32_t magic, unsigned minor, uint64_t base)
{
	AUTO_BUF struct buf b = { 0 };
	struct symtab t = { 0 };
	struct pclntab p;
	size_t at;

	buf_add(&b, "................", 16); /* not at the start of the section */
	make_table(&b, magic, 0);
	CHECK(pclntab_search(b.data, b.len, &at, &p));
	CHECK_EQ(at, 16);
	CHECK_EQ(p.go_minor, minor);
	CHECK_EQ(p.text_start, 0);
	CHECK_EQ(pclntab_functions(&p, 0x400000, &t), 3);
	symtab_finish(&t);
	CHECK_STR(symtab_name(&t, symtab_find(&t, base + 0x1ff)), "main.main");
	CHECK_STR(symtab_name(&t, symtab_find(&t, base + 0x27f)), "main.f");
	CHECK(!symtab_find(&t, base + 0x280)); /* C code behind Go's */
	CHECK(!symtab_find(&t, base + 0xff));
	symtab_free(&t);
}

TEST(layouts_of_all_versions)
{
	check_layout(0xfffffff1, 20, 0x400000);
	check_layout(0xfffffff0, 18, 0x400000);
	check_layout(0xfffffffa, 16, 0);
}

TEST(no_table_where_none_is)
{
	AUTO_BUF struct buf b = { 0 };
	struct pclntab p;
	size_t at;

	make_table(&b, 0xfffffff1, 0x1000);
	CHECK(pclntab_open(b.data, b.len, &p));
	CHECK_EQ(p.text_start, 0x1000);
	b.data[7] = 4; /* 32-bit */
	CHECK(!pclntab_search(b.data, b.len, &at, &p));
	CHECK(!pclntab_open(b.data, 10, &p));
}

TEST_MAIN

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "eh_ranges.h"
#include "elf_image.h"
#include "fake_root.h"
#include "idle_name.h"
#include "kallsyms.h"
#include "perf_map.h"
#include "process_maps.h"
#include "symbol_loader.h"
#include "symbolizer.h"

TEST(kernel_symbols_with_modules)
{
	struct kallsyms k;
	struct err err = { 0 };
	uint64_t start;
	const char *module;

	CHECK_EQ(kallsyms_parse("0000000000000000 A fixed_percpu_data\n"
				"ffffffff81000000 T _stext\n"
				"ffffffff81000000 t local_alias\n"
				"ffffffff81000100 t do_idle\n"
				"ffffffff81000200 D some_data\n"
				"ffffffffc0000000 t ena_poll\t[ena]\n"
				"ffffffffc0001000 t bpf_prog_1_x\t[bpf]\n",
				&k, &err),
		 0);
	CHECK_STR(kallsyms_find(&k, 0xffffffff81000010, &start, &module), "_stext");
	CHECK_STR(kallsyms_find(&k, 0xffffffff81000150, &start, &module), "do_idle");
	CHECK_STR(module, "[kernel.kallsyms]");
	CHECK_STR(kallsyms_find(&k, 0xffffffffc0000010, &start, &module), "ena_poll");
	CHECK_STR(module, "[ena]");
	CHECK(!kallsyms_find(&k, 0x1000, &start, &module));
	CHECK(!kallsyms_find(&k, 0xffffffffff000000, &start, &module));
	kallsyms_add(&k, 0xffffffffc0002000, 64, "bpf_prog_2_y", true);
	CHECK_STR(kallsyms_find(&k, 0xffffffffc0002010, &start, &module), "bpf_prog_2_y");
	CHECK_STR(module, "[bpf]");
	CHECK(!kallsyms_find(&k, 0xffffffffc0002040, &start, &module));
	kallsyms_free(&k);
}

TEST(a_kernel_symbol_as_the_kernel_prints_it)
{
	struct ksym sym;

	CHECK_EQ(ksym_parse("do_idle+0x10/0x1a0", &sym), 0);
	CHECK(sym.offset == 0x10 && sym.size == 0x1a0);
	CHECK_STR(sym.name, "do_idle");
	CHECK_STR(sym.module, "");
	CHECK_EQ(ksym_parse("ena_poll+0x0/0x40 [ena]", &sym), 0);
	CHECK_STR(sym.module, "[ena]");
	CHECK_EQ(ksym_parse("ena_poll+0x0/0x40 [ena 0123456789abcdef]", &sym), 0);
	CHECK_STR(sym.module, "[ena]");
	CHECK_EQ(ksym_parse("bpf_prog_6deef7357e7b4530_x+0x5/0x40", &sym), 0);
	CHECK_STR(sym.module, "[bpf]");
	CHECK_EQ(ksym_parse("0xffffffff12345678", &sym), -EINVAL);
	CHECK_EQ(ksym_parse("+0x1/0x2", &sym), -EINVAL);
	CHECK_EQ(ksym_parse("", &sym), -EINVAL);
}

TEST(hidden_kernel_symbols_are_named)
{
	struct kallsyms k;
	struct err err = { 0 };

	CHECK_EQ(kallsyms_parse("0000000000000000 T _stext\n0000000000000000 T x\n", &k, &err),
		 -EACCES);
	CHECK(strstr(err.text, "kptr_restrict") != NULL);
}

__attribute__((noinline)) static int function_of_this_test(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

TEST(an_elf_file_with_symtab)
{
	struct elf_source source;
	struct symbol_image *image = NULL;
	int fd = open("/proc/self/exe", O_RDONLY);
	bool found = false;

	CHECK_EQ(function_of_this_test(1), 2);
	CHECK_EQ(elf_source_of_fd(fd, &source, NULL), 0);
	CHECK_EQ(symbol_image_read(&source, &image, NULL), 0);
	CHECK(image->build_id_len == 20);
	for (size_t i = 0; i < image->table.entries.len; i++) {
		const struct symtab_entry *e = &image->table.entries.items[i];
		if (strcmp(symtab_name(&image->table, e), "function_of_this_test") != 0)
			continue;
		found = true;
		CHECK(symtab_find(&image->table, e->start + e->size - 1) == e);
		CHECK(symtab_find(&image->table, e->start + e->size) != e);
	}
	CHECK(found);
	symbol_image_free(image);
	close(fd);
}

/* A 32-bit file has the same tables in another shape. */
TEST(a_32_bit_elf_file)
{
	static const char names[] = "\0.symtab\0.strtab\0main32\0helper32";
	struct {
		Elf32_Ehdr head;
		Elf32_Phdr load;
		Elf32_Sym symbols[3];
		char names[sizeof(names)];
		Elf32_Shdr sections[3];
	} file = {
		.head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_EXEC,
			  .e_phentsize = sizeof(Elf32_Phdr),
			  .e_phnum = 1,
			  .e_shentsize = sizeof(Elf32_Shdr),
			  .e_shnum = 3,
			  .e_shstrndx = 2 },
		.load = { .p_type = PT_LOAD,
			  .p_offset = 0x1000,
			  .p_vaddr = 0x8049000,
			  .p_filesz = 0x800,
			  .p_memsz = 0x800,
			  .p_flags = PF_R | PF_X },
		.symbols = { { 0 },
			     { .st_name = 17,
			       .st_value = 0x8049000,
			       .st_size = 0x40,
			       .st_info = ELF32_ST_INFO(STB_GLOBAL, STT_FUNC),
			       .st_shndx = 1 },
			     { .st_name = 24,
			       .st_value = 0x8049040,
			       .st_size = 0x20,
			       .st_info = ELF32_ST_INFO(STB_LOCAL, STT_FUNC),
			       .st_shndx = 1 } },
		.sections = { { 0 },
			      { .sh_name = 1,
				.sh_type = SHT_SYMTAB,
				.sh_size = sizeof(file.symbols),
				.sh_link = 2 },
			      { .sh_name = 9, .sh_type = SHT_STRTAB, .sh_size = sizeof(names) } },
	};
	struct symbol_image *image = NULL;
	struct elf_source source;
	struct elf_image elf;
	uint64_t address;

	memcpy(file.names, names, sizeof(names));
	file.head.e_phoff = (uint32_t)((char *)&file.load - (char *)&file);
	file.head.e_shoff = (uint32_t)((char *)file.sections - (char *)&file);
	file.sections[1].sh_offset = (uint32_t)((char *)file.symbols - (char *)&file);
	file.sections[2].sh_offset = (uint32_t)((char *)file.names - (char *)&file);
	source = elf_source_of_bytes(&file, sizeof(file));
	CHECK_EQ(elf_image_open(&source, &elf, NULL), 0);
	CHECK(elf_image_address(&elf, 0x1050, &address) && address == 0x8049050);
	elf_image_close(&elf);
	CHECK_EQ(symbol_image_read(&source, &image, NULL), 0);
	CHECK_EQ(image->table.entries.len, 2);
	CHECK_STR(symtab_name(&image->table, symtab_find(&image->table, 0x804903f)), "main32");
	CHECK_STR(symtab_name(&image->table, symtab_find(&image->table, 0x8049040)), "helper32");
	symbol_image_free(image);
	/* cut anywhere: an error or fewer names, never a crash */
	for (size_t len = 0; len < sizeof(file); len++) {
		source = elf_source_of_bytes(&file, len);
		if (symbol_image_read(&source, &image, NULL) == 0)
			symbol_image_free(image);
	}
	file.head.e_ident[EI_DATA] = ELFDATA2MSB;
	source = elf_source_of_bytes(&file, sizeof(file));
	CHECK_EQ(elf_image_open(&source, &elf, NULL), -ENOTSUP);
}

/* Unwind entries agree with the symbols of the same file. */
TEST(functions_of_a_stripped_file)
{
	struct elf_source source;
	struct elf_image elf;
	struct symtab symbols = { 0 };
	struct eh_ranges ranges = { 0 };
	void *header = NULL, *frame = NULL;
	uint64_t start = 0;
	bool checked = false;
	int fd = open("/proc/self/exe", O_RDONLY);

	CHECK_EQ(elf_source_of_fd(fd, &source, NULL), 0);
	CHECK_EQ(elf_image_open(&source, &elf, NULL), 0);
	const struct elf_section *h = elf_image_section(&elf, ".eh_frame_hdr");
	const struct elf_section *f = elf_image_section(&elf, ".eh_frame");
	CHECK(h && f && elf_image_read(&elf, h->offset, h->size, &header) == 0 &&
	      elf_image_read(&elf, f->offset, f->size, &frame) == 0);
	CHECK(eh_ranges_parse(header, h->size, h->address, frame, f->size, f->address, &ranges) >
	      10);
	elf_image_symbols(&elf, &symbols);
	symtab_finish(&symbols);
	for (size_t i = 0; i < symbols.entries.len; i++) {
		const struct symtab_entry *e = &symbols.entries.items[i];
		if (strcmp(symtab_name(&symbols, e), "function_of_this_test") != 0)
			continue;
		checked = eh_ranges_find(&ranges, e->start + e->size - 1, &start) &&
			  start == e->start;
	}
	CHECK(checked);
	CHECK(!eh_ranges_find(&ranges, 1, &start));
	for (size_t cut = 0; cut < 64; cut++) {
		struct eh_ranges few = { 0 };
		eh_ranges_parse(header, cut, h->address, frame, 10, f->address, &few);
		CHECK_EQ(few.list.len, 0);
	}
	eh_ranges_free(&ranges);
	symtab_free(&symbols);
	free(header);
	free(frame);
	elf_image_close(&elf);
	close(fd);
}

TEST(no_name_beyond_a_symbols_size)
{
	struct symtab t = { 0 };

	symtab_add(&t, 0x1000, 0x10, "sized", 5, 0, 0);
	symtab_add(&t, 0x2000, 0, "unsized", 7, 0, 0);
	symtab_add(&t, 0x1000, 0x10, "global", 6, 2, 0);
	symtab_finish(&t);
	CHECK_STR(symtab_name(&t, symtab_find(&t, 0x100f)), "global");
	CHECK(!symtab_find(&t, 0x1010));
	CHECK_STR(symtab_name(&t, symtab_find(&t, 0x2000)), "unsized");
	CHECK(!symtab_find(&t, 0x2001));
	CHECK(!symtab_find(&t, 0xfff));
	symtab_free(&t);
}

TEST(a_jits_map)
{
	struct symtab t = { 0 };

	CHECK_EQ(perf_map_parse("3ef414c0 398 Interpreter\n0x3ef418a0 0x80 a b;c\nrubbish\n"
				"ff 0 empty\n12 zz x\n",
				&t),
		 2);
	symtab_finish(&t);
	CHECK_STR(symtab_name(&t, symtab_find(&t, 0x3ef414d0)), "Interpreter");
	CHECK_STR(symtab_name(&t, symtab_find(&t, 0x3ef418a1)), "a b;c");
	symtab_free(&t);
}

static void count_map(void *arg, const struct proc_maps_entry *e)
{
	struct process *p = arg;
	process_add_map(p, e->start, e->end, e->file_offset, e->path_len);
}

TEST(mappings_of_a_process)
{
	struct process_table t = { 0 };
	struct process *p = process_table_put(&t, 10);

	CHECK_EQ(proc_maps_parse("00400000-00401000 r-xp 00002000 fe:01 77   /usr/bin/a b\n"
				 "00401000-00402000 rw-p 00000000 00:00 0\n"
				 "7f0000000000-7f0000001000 r-xp 00000000 00:00 0 [vdso]\n"
				 "7f0000002000-7f0000003000 rwxp 00000000 00:00 0 \n"
				 "bad line\n",
				 count_map, p),
		 3);
	CHECK_EQ(process_find_map(p, 0x400010)->file, strlen("/usr/bin/a b"));
	CHECK(!process_find_map(p, 0x401000));
	/* a mapping over the middle of another */
	process_add_map(p, 0x400400, 0x400800, 0, 99);
	CHECK_EQ(process_find_map(p, 0x4003ff)->file_offset, 0x2000);
	CHECK_EQ(process_find_map(p, 0x400400)->file, 99);
	CHECK_EQ(process_find_map(p, 0x400800)->file_offset, 0x2800);
	process_add_map(p, 0x400000, 0x500000, 0, 98);
	CHECK_EQ(process_find_map(p, 0x400800)->file, 98);
	process_table_fork(&t, 11, 10);
	CHECK_EQ(process_find_map(process_table_get(&t, 11), 0x400800)->file, 98);
	process_table_exit(&t, 11);
	CHECK(process_table_get(&t, 11) != NULL);
	/* records were missed: the living are asked again, of the dead nobody can be */
	p->complete = p->asked = true;
	process_table_forget_maps(&t);
	CHECK(!p->complete && !p->asked && !process_find_map(p, 0x400800));
	CHECK(process_find_map(process_table_get(&t, 11), 0x400800) != NULL);
	process_table_forget_dead(&t, 1);
	CHECK(!process_table_get(&t, 11));
	process_table_free(&t);
}

TEST(idle_is_a_leaf_function)
{
	CHECK(idle_name("pv_native_safe_halt") && idle_name("intel_idle_irq"));
	CHECK(!idle_name("net_rx_action") && !idle_name("handle_softirqs"));
}

/* This very process: maps from /proc, symbols of its own file, the vdso. */
TEST(symbolizes_this_process)
{
	AUTO_PROFILE struct profile profile;
	AUTO_UNKNOWNS struct unknowns unknowns = { 0 };
	struct root root;
	struct symbolizer *s;
	char name[128];
	uint64_t address = (uint64_t)(uintptr_t)function_of_this_test;

	CHECK_EQ(root_open(NULL, &root, NULL), 0);
	CHECK_EQ(profile_init(&profile), 0);
	CHECK_EQ(symbolizer_open(&root, &unknowns, &s, NULL), 0);
	symbolizer_use(s, &profile);
	for (int round = 0; round < 2; round++) { /* maps first, then the file */
		symbolizer_locate(s, (uint32_t)getpid(), address, false);
		symbolizer_cgroup(s, (uint32_t)getpid(), 0);
		symbolizer_wait(s, 5000000000);
		symbolizer_collect(s);
	}
	CHECK(symbolizer_cgroup(s, (uint32_t)getpid(), 0)[0] == '/');
	uint32_t frame = symbolizer_frame(s, (uint32_t)getpid(),
					  symbolizer_locate(s, (uint32_t)getpid(), address, false));
	CHECK_STR(profile_frame_name(&profile, frame, name, sizeof(name)), "function_of_this_test");
	CHECK_EQ(profile.modules.items[profile.frames.items[frame].module].build_id_len, 20);
	CHECK(symbolizer_locate(s, (uint32_t)getpid(), 0x10, false).file == SYMBOLIZER_NOWHERE);
	symbolizer_close(s);
	root_close(&root);
}

TEST_MAIN

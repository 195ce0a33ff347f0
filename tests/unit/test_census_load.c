/* A job whose program cannot be loaded: it is let go, and asking again gives the same reason. */
#include <bpf/libbpf.h>
#include <string.h>

#include "census_impl.h"
#include "check.h"
#include "fake_root.h"
/* generated: needs the headers above */
#include "census_paths.skel.h"

TEST(the_first_reason_is_kept)
{
	AUTO_FAKE_ROOT struct fake_root root = fake_root_new();
	struct census c = { .root = &root.root };
	struct census_program *p = &c.programs[CENSUS_JOB_PATHS];
	struct err first = { 0 }, again = { 0 };
	size_t bytes;
	const void *elf = census_paths_bpf__elf_bytes(&bytes);

	fake_root_put(&root, "sys/kernel/btf/vmlinux", "");
	libbpf_set_print(NULL);
	p->obj = bpf_object__open_mem(elf, bytes, NULL);
	CHECK(p->obj);
	/* no kernel has room for that */
	bpf_map__set_max_entries(bpf_object__find_map_by_name(p->obj, "names"), UINT32_MAX);
	int r = census_load(&c, CENSUS_JOB_PATHS, &first);
	CHECK(r < 0 && !p->program && !p->obj && !p->ctl);
	CHECK_EQ(census_load(&c, CENSUS_JOB_PATHS, &again), r);
	CHECK_STR(again.text, first.text);
	CHECK(strlen(first.text) > 0);
	census_unload(&c);
}

TEST_MAIN

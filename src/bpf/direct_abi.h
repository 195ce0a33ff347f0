/* Plain loads from kernel memory instead of a helper call per read (kernels from 6.2).
 *
 * The kernel's bpf_rdonly_cast() makes a typed pointer of an address; loads through it cannot
 * fault, and cost no call. Its id and the types' ids differ from kernel to kernel. An extern
 * declaration would make libbpf read the whole BTF for them, so the programs carry placeholders,
 * which source/bpf_types.c replaces just before loading. */
#pragma once

#define DIRECT_SECTION   "direct"
#define DIRECT_CAST_CALL 0x7fff0000

/* Kernel structs that are cast to; the order of finds in source/bpf_types.c. */
enum direct_type {
	DIRECT_CSS = 0x7fff0001,
	DIRECT_MEMCG,
	DIRECT_PER_NODE,
	DIRECT_LIST_HEAD,
	DIRECT_END,
};

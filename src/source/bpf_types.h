/* Loading a BPF object without libbpf reading the whole kernel BTF: a memory file takes the part
 * that the object needs (btf_slice.h).
 *
 *	struct bpf_types types = bpf_types_open();
 *	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = bpf_types_path(&types));
 *	skel = x_bpf__open_opts(&opts);
 *	bpf_types_fill(&types, root, skel->obj, &err);
 *	x_bpf__load(skel);
 *	bpf_types_close(&types);
 */
#pragma once

#include "err.h"
#include "root.h"

struct bpf_object;

struct bpf_types {
	int fd; /* -1 = libbpf reads the whole of it */
	char path[32];
};

struct bpf_types bpf_types_open(void);
/* For the open options; NULL = without a slice. */
const char *bpf_types_path(const struct bpf_types *t);
/* Before the object is loaded, with all programs chosen. Programs in the sections "tasks" and
 * "task_files" become iterators: as "iter/task" and "iter/task_file" they would make libbpf read
 * all BTF. Those in "direct" are sleepable system call programs whose placeholders (direct_abi.h)
 * get this kernel's ids. */
int bpf_types_fill(const struct bpf_types *t, const struct root *root, const struct bpf_object *obj,
		   struct err *err);
/* The same for several objects that were opened with the same path: the kernel's description is
 * gone through once. */
int bpf_types_fill_all(const struct bpf_types *t, const struct root *root,
		       struct bpf_object *const *objs, size_t n, struct err *err);
void bpf_types_close(struct bpf_types *t);
/* Ids of functions and structs, places of variables, of the running kernel (btf_slice.h). */
struct btf_slice_find;
int bpf_types_find(const struct root *root, struct btf_slice_find *what, size_t n, struct err *err);
/* Only errors of ours are for users: ZSCOPE_BPF_LOG=1 shows libbpf's and the verifier's words. */
void bpf_types_quiet(void);

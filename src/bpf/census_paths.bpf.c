// SPDX-License-Identifier: GPL-2.0-or-later
/* Where pinning files lie: the names of the dentries above a batch of inodes, from the leaf up. */
#include "census_pins_abi.h"
#include "census_read.h"

char LICENSE[] SEC("license") = "GPL";

struct paths_state st;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CENSUS_OUT);
	__type(key, __u32);
	__type(value, struct census_part);
} names SEC(".maps");

/* the batch */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CENSUS_OUT);
	__type(key, __u32);
	__type(value, struct census_target);
} targets SEC(".maps");

static __always_inline __u64 path_first_dentry(struct inode *inode)
{
	__u64 first = 0;

	READ(first, &inode->i_dentry.first);
	if (!first)
		return 0;
	if (bpf_core_field_exists(((struct dentry *)0)->d_u.d_alias))
		return first - bpf_core_field_offset(((struct dentry *)0)->d_u.d_alias);
	if (bpf_core_field_exists(((struct dentry___flat *)0)->d_alias))
		return first - bpf_core_field_offset(((struct dentry___flat *)0)->d_alias);
	return 0;
}

static __always_inline int path_step(void)
{
	__u32 at = st.at, n = st.ctl.out_n;
	struct census_target *target = bpf_map_lookup_elem(&targets, &at);
	struct dentry *dentry, *up = 0;
	const unsigned char *name = 0;

	st.ctl.steps++;
	if (!target || at >= st.ctl.targets) {
		st.ctl.done = 1;
		return 1;
	}
	if (!st.dentry) {
		struct inode *inode = (void *)target->ptr;
		__u64 ino = 0;
		if (bpf_core_field_size(inode->i_ino) == 8)
			bpf_core_read(&ino, 8, &inode->i_ino);
		st.level = 0;
		if (ino == target->check)
			st.dentry = path_first_dentry(inode);
		if (!st.dentry)
			st.at++;
		return 0;
	}
	dentry = (void *)st.dentry;
	READ(up, &dentry->d_parent);
	if (up == dentry || !up || st.level >= CENSUS_PATH_DEPTH) {
		st.at++;
		st.dentry = 0;
		return 0;
	}
	if (n >= CENSUS_OUT)
		return 1;
	struct census_part *out = bpf_map_lookup_elem(&names, &n);
	if (!out)
		return 1;
	READ(name, &dentry->d_name.name);
	out->index = at;
	out->level = st.level;
	long len = bpf_probe_read_kernel_str(out->name, sizeof(out->name), name);
	out->len = len > 0 ? len - 1 : 0;
	st.level++;
	st.ctl.out_n = n + 1;
	st.dentry = (__u64)up;
	return 0;
}

static long path_callback(__u32 i, void *ctx)
{
	return path_step();
}

SEC("syscall")
int census_paths(void *ctx)
{
	slice_start(&st.ctl);
	bpf_loop(st.ctl.budget, path_callback, 0, 0);
	return 0;
}

SEC("raw_tp/sys_enter")
int census_paths_chunk(void *ctx)
{
	if (!census_is_meant(&st.ctl))
		return 0;
	slice_start(&st.ctl);
	EIGHT_TIMES(path_step());
	return 0;
}

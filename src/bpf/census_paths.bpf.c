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
	/* memory without a path (memfd, System V) has one name and nothing above it */
	bool top = up == dentry || !up;
	if ((top && st.level) || st.level >= CENSUS_PATH_DEPTH) {
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
	/* one that hangs nowhere (a file handle's) is called "/", a block device's "": no name */
	if (out->len && (!top || out->len != 1 || out->name[0] != '/'))
		st.ctl.out_n = n + 1;
	if (top)
		st.at++;
	st.dentry = top ? 0 : (__u64)up;
	return 0;
}

CENSUS_PROGRAMS(census_paths, path_step)

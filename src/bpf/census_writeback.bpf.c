// SPDX-License-Identifier: GPL-2.0-or-later
/* Which dying memory cgroups are held by writeback. On cgroup v2 whoever dirties a file gets a
 * writeback structure per backing device, and that refers to the memory cgroup. A removed cgroup's
 * structure lives until its inodes are clean and handed to the parent's, which the kernel does
 * (from 5.15 on) when another memory cgroup is removed. Nothing leads from a memory cgroup to them,
 * but every backing device has all of its own on a list: walked in slices and unlocked, like the
 * census. */
#include "census_inode.h"

char LICENSE[] SEC("license") = "GPL";

struct vfsmount {
	struct super_block *mnt_sb;
} SLICE;

struct path {
	struct vfsmount *mnt;
} SLICE;

struct fs_struct {
	struct path root;
} SLICE;

struct task_struct___fs {
	struct fs_struct *fs;
} SLICE;

struct backing_dev_info;

struct bdi_writeback {
	struct backing_dev_info *bdi;
	struct list_head b_dirty, b_io, b_more_io, b_dirty_time;
	struct list_head bdi_node;
	struct cgroup_subsys_state *memcg_css;
} SLICE;

/* 5.15: clean inodes, too, and with it the cleaner */
struct bdi_writeback___attached {
	struct list_head b_attached;
} SLICE;

struct backing_dev_info {
	struct list_head bdi_list;
	struct bdi_writeback wb;
	struct list_head wb_list;
} SLICE;

struct super_block___bdi {
	struct list_head s_list;
	struct backing_dev_info *s_bdi;
} SLICE;

struct inode___wb {
	struct bdi_writeback *i_wb;
	struct list_head i_io_list;
} SLICE;

struct writeback_state st;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CENSUS_OUT);
	__type(key, __u32);
	__type(value, struct census_writeback);
} held SEC(".maps");

/* The kernel's lists of super blocks and of backing devices are rings with a bare head among their
 * members: what is taken for a device there does not point to itself. */
static __always_inline bool bdi_is_real(struct backing_dev_info *bdi)
{
	struct backing_dev_info *self = 0;

	if (bdi)
		READ(self, &bdi->wb.bdi);
	return self && self == bdi;
}

/* The first step: any device on the list of devices, found through the mounted file systems. */
static __always_inline int find_device(void)
{
	struct super_block___bdi *sb;
	struct backing_dev_info *bdi = 0;
	__u64 next = 0;

	if (!st.sb) {
		struct task_struct___fs *task = (void *)bpf_get_current_task();
		st.sb = st.first_sb = (__u64)BPF_CORE_READ(task, fs, root.mnt, mnt_sb);
	}
	sb = (void *)st.sb;
	READ(bdi, &sb->s_bdi);
	if (bdi_is_real(bdi)) {
		READ(next, &bdi->bdi_list.next);
		/* what only exists in memory has one that is on no list */
		if (next && next != (__u64)bdi + OFFSET(backing_dev_info, bdi_list)) {
			st.bdi = st.first_bdi = (__u64)bdi;
			return 0;
		}
	}
	READ(next, &sb->s_list.next);
	st.sb = next ? next - OFFSET(super_block___bdi, s_list) : 0;
	if (st.sb && st.sb != st.first_sb)
		return 0;
	st.ctl.done = 1;
	return 1;
}

static __always_inline int next_device(void)
{
	struct backing_dev_info *bdi = (void *)st.bdi;
	__u64 next = 0;

	READ(next, &bdi->bdi_list.next);
	st.pos = 0;
	st.bdi = next ? next - OFFSET(backing_dev_info, bdi_list) : 0;
	if (st.bdi && st.bdi != st.first_bdi)
		return 0;
	st.ctl.done = 1;
	return 1;
}

/* The first inode on the list whose head lies at `head`; 0 = it is empty. */
static __always_inline __u64 first_inode(__u64 head, __u64 wb)
{
	struct inode___wb *inode;
	__u64 first = 0, its = 0;

	bpf_probe_read_kernel(&first, sizeof(first), (void *)head);
	if (!first || first == head)
		return 0;
	inode = (void *)(first - OFFSET(inode___wb, i_io_list));
	READ(its, &inode->i_wb);
	return its == wb ? (__u64)inode : 0;
}

static __always_inline int record_held(__u64 wb, __u64 css)
{
	__u32 n = st.ctl.out_n;
	struct census_writeback *out;
	__u64 inode;

	if (n >= CENSUS_OUT)
		return 1;
	out = bpf_map_lookup_elem(&held, &n);
	if (!out)
		return 1;
	__builtin_memset(out, 0, sizeof(*out));
	out->css = css;
	out->cleaner = bpf_core_field_exists(((struct bdi_writeback___attached *)0)->b_attached);
	inode = first_inode(wb + OFFSET(bdi_writeback, b_dirty), wb);
	if (!inode)
		inode = first_inode(wb + OFFSET(bdi_writeback, b_io), wb);
	if (!inode)
		inode = first_inode(wb + OFFSET(bdi_writeback, b_more_io), wb);
	out->dirty = inode != 0;
	if (!inode)
		inode = first_inode(wb + OFFSET(bdi_writeback, b_dirty_time), wb);
	/* asked again, so that the verifier sees that a missing field is not read */
	if (bpf_core_field_exists(((struct bdi_writeback___attached *)0)->b_attached) && !inode)
		inode = first_inode(wb + OFFSET(bdi_writeback___attached, b_attached), wb);
	if (inode) {
		inode_describe(inode, &out->file);
		out->file.kind = CENSUS_PIN_FILE;
	}
	st.ctl.out_n = n + 1;
	return 0;
}

/* 1 = the slice ends here. */
static __always_inline int writeback_step(void)
{
	struct backing_dev_info *bdi, *its = 0;
	struct cgroup_subsys_state *css = 0;
	struct bdi_writeback *wb;
	__u32 flags = 0;
	__u64 head;

	st.ctl.steps++;
	if (!bpf_core_field_exists(((struct bdi_writeback *)0)->memcg_css)) {
		st.ctl.done = 1;
		return 1;
	}
	if (!st.bdi)
		return find_device();
	bdi = (void *)st.bdi;
	head = st.bdi + OFFSET(backing_dev_info, wb_list);
	if (!st.pos) {
		if (!bdi_is_real(bdi))
			return next_device();
		bpf_probe_read_kernel(&st.pos, sizeof(st.pos), (void *)head);
		return st.pos ? 0 : next_device();
	}
	if (st.pos == head)
		return next_device();
	wb = (void *)(st.pos - OFFSET(bdi_writeback, bdi_node));
	READ(its, &wb->bdi);
	if (its != bdi) {
		/* let go while we looked: from the start of this device, but not for ever */
		st.pos = 0;
		return ++st.restarts > CENSUS_WRITEBACK_RESTARTS ? next_device() : 0;
	}
	READ(css, &wb->memcg_css);
	if (css)
		READ(flags, &css->flags);
	if (flags & CSS_DYING_BIT && record_held((__u64)wb, (__u64)css))
		return 1;
	bpf_probe_read_kernel(&st.pos, sizeof(st.pos), (void *)st.pos);
	return 0;
}

CENSUS_PROGRAMS(census_writeback, writeback_step)

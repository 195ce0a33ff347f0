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
static __always_inline bool bdi_is_real(__u64 address)
{
	struct backing_dev_info *bdi = (void *)address, *self = 0;

	if (bdi)
		READ(self, &bdi->wb.bdi);
	return self && self == bdi;
}

/* 1 = the slice ends here, and the walk. */
static __always_inline int walk_ends(bool lost)
{
	st.lost |= lost;
	st.ctl.done = 1;
	return 1;
}

static __always_inline bool may_restart(void)
{
	return ++st.restarts <= CENSUS_WRITEBACK_RESTARTS;
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
	if (bdi_is_real((__u64)bdi)) {
		READ(next, &bdi->bdi_list.next);
		/* what only exists in memory has one that is on no list */
		if (next && next != (__u64)bdi + OFFSET(backing_dev_info, bdi_list)) {
			st.bdi = (__u64)bdi;
			return 0;
		}
	}
	READ(next, &sb->s_list.next);
	next = next ? next - OFFSET(super_block___bdi, s_list) : 0;
	if (next == st.first_sb)
		return walk_ends(false);
	/* one that was unmounted while we looked leads to itself */
	if (!next || next == st.sb) {
		st.sb = 0;
		return may_restart() ? 0 : walk_ends(true);
	}
	st.sb = next;
	return 0;
}

/* What hangs on a list has neighbours that know it; memory that was a device once does not. */
static __always_inline bool is_linked(__u64 address)
{
	struct list_head *node = (void *)address, *next = 0, *prev = 0;
	__u64 back = 0, forth = 0;

	READ(next, &node->next);
	READ(prev, &node->prev);
	READ(back, &next->prev);
	READ(forth, &prev->next);
	return back == address && forth == address;
}

static __always_inline int first_device(void)
{
	struct list_head *head = (void *)st.head;
	__u64 next = 0;

	READ(next, &head->next);
	st.pos = 0;
	st.bdi = next - OFFSET(backing_dev_info, bdi_list);
	return next && next != st.head ? 0 : walk_ends(!next);
}

/* From any device on: the head is the one that is none. A device that went away meanwhile still
 * leads to the others, but nothing leads back to it: it could not end the walk. */
static __always_inline int find_head(void)
{
	struct backing_dev_info *bdi = (void *)st.bdi;
	__u64 next = 0;

	READ(next, &bdi->bdi_list.next);
	st.bdi = next - OFFSET(backing_dev_info, bdi_list);
	if (next && bdi_is_real(st.bdi))
		return 0;
	if (next && is_linked(next)) {
		st.head = next;
		return first_device();
	}
	st.bdi = st.sb = 0;
	return may_restart() ? 0 : walk_ends(true);
}

static __always_inline int next_device(void)
{
	struct backing_dev_info *bdi = (void *)st.bdi;
	__u64 next = 0;

	READ(next, &bdi->bdi_list.next);
	st.pos = 0;
	if (next == st.head)
		return walk_ends(false);
	st.bdi = next - OFFSET(backing_dev_info, bdi_list);
	if (next && bdi_is_real(st.bdi))
		return 0;
	/* freed while we looked: what is met again is counted once */
	return may_restart() ? first_device() : walk_ends(true);
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
	struct cgroup_subsys_state *css = 0;
	struct bdi_writeback *wb;
	__u64 head, its = 0;
	__u32 flags = 0;

	st.ctl.steps++;
	if (!bpf_core_field_exists(((struct bdi_writeback *)0)->memcg_css))
		return walk_ends(false);
	if (!st.bdi)
		return find_device();
	if (!st.head)
		return find_head();
	head = st.bdi + OFFSET(backing_dev_info, wb_list);
	if (!st.pos) {
		bpf_probe_read_kernel(&st.pos, sizeof(st.pos), (void *)head);
		return st.pos ? 0 : next_device();
	}
	if (st.pos == head)
		return next_device();
	wb = (void *)(st.pos - OFFSET(bdi_writeback, bdi_node));
	READ(its, &wb->bdi);
	if (its != st.bdi) {
		/* let go while we looked: from the start of this device, but not for ever */
		st.pos = 0;
		if (may_restart())
			return 0;
		st.lost = 1;
		return next_device();
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

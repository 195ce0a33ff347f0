/* The parts of kernel types that the zombie programs read: CO-RE finds each field's place on the
 * running kernel. A ___suffix is an older or newer layout of the same type. */
#pragma once

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
/* after bpf_helpers.h */
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define SLICE __attribute__((preserve_access_index))

typedef struct {
	long counter;
} SLICE atomic_long_t;

typedef struct {
	int counter;
} SLICE atomic_t;

typedef struct {
	atomic_t refs;
} SLICE refcount_t;

struct list_head {
	struct list_head *next, *prev;
} SLICE;

struct hlist_node {
	struct hlist_node *next;
} SLICE;

struct hlist_head {
	struct hlist_node *first;
} SLICE;

enum cgroup_subsys_id {
	memory_cgrp_id = 4,
};

/* css->flags, the same in every version */
enum {
	CSS_RELEASED_BIT = 1 << 2,
	CSS_DYING_BIT = 1 << 4,
};

struct percpu_ref_data {
	atomic_long_t count;
} SLICE;

struct percpu_ref {
	unsigned long percpu_count_ptr;
	struct percpu_ref_data *data;
} SLICE;

/* up to 5.9 */
struct percpu_ref___old {
	atomic_long_t count;
} SLICE;

struct cgroup;

struct cgroup_root;

struct cgroup_subsys {
	struct cgroup_root *root; /* of the hierarchy that has it */
} SLICE;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys *ss;
	struct percpu_ref refcnt;
	struct list_head sibling;
	struct list_head children;
	unsigned int flags;
	__u64 serial_nr;
	struct cgroup_subsys_state *parent;
} SLICE;

struct cgroup_subsys_state___old {
	struct percpu_ref___old refcnt;
} SLICE;

struct kernfs_node {
	const char *name;
	__u64 id;
} SLICE;

/* up to 5.4: an inode number and a generation */
union kernfs_node_id {
	__u64 id;
} SLICE;

struct kernfs_node___old {
	union kernfs_node_id id;
} SLICE;

struct cgroup {
	int nr_dying_descendants; /* 4.14 */
	struct kernfs_node *kn;
	struct cgroup_subsys_state *subsys[16];
} SLICE;

struct cgroup_root {
	unsigned int subsys_mask;
	struct cgroup cgrp;
} SLICE;

struct css_set {
	struct cgroup_subsys_state *subsys[16];
	struct cgroup *dfl_cgrp;
} SLICE;

struct proc_ns_operations {
	int type; /* CLONE_NEW...; gone in 6.18 */
} SLICE;

struct ns_common {
	const struct proc_ns_operations *ops;
} SLICE;

/* 6.18 */
struct ns_common___typed {
	__u32 ns_type;
} SLICE;

struct cgroup_namespace {
	struct ns_common ns;
	struct css_set *root_cset;
} SLICE;

struct nsproxy {
	struct cgroup_namespace *cgroup_ns;
} SLICE;

struct task_struct {
	int pid, tgid, exit_state;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct css_set *cgroups;
	struct nsproxy *nsproxy;
	struct mm_struct *mm;
	char comm[16];
} SLICE;

struct page_counter {
	atomic_long_t usage;
} SLICE;

struct mem_cgroup_id {
	int id;
	refcount_t ref;
} SLICE;

struct lru_gen_folio {
	struct list_head folios[40];
	long nr_pages[40];
} SLICE;

struct lruvec {
	struct list_head lists[5];
	struct lru_gen_folio lrugen;
} SLICE;

/* 6.1 and 6.2 */
struct lru_gen_struct {
	struct list_head lists[40];
	long nr_pages[40];
} SLICE;

struct lruvec___old {
	struct lru_gen_struct lrugen;
} SLICE;

struct mem_cgroup_per_node {
	struct lruvec lruvec;
	unsigned long lru_zone_size[25];
} SLICE;

struct mem_cgroup {
	struct cgroup_subsys_state css;
	struct mem_cgroup_id id;
	struct page_counter memory;
	struct page_counter swap;
	struct page_counter memsw;
	struct page_counter kmem;
	struct mem_cgroup_per_node *nodeinfo[0];
} SLICE;

/* its name since 7.x */
struct mem_cgroup_private_id {
	refcount_t ref;
} SLICE;

struct mem_cgroup___private {
	struct mem_cgroup_private_id id;
} SLICE;

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
} SLICE;

struct inode {
	unsigned short i_mode;
	unsigned int i_nlink;
	unsigned long i_ino;
	__u32 i_rdev;
	struct super_block *i_sb;
	__u32 i_generation;
	struct hlist_head i_dentry;
	void *i_private;
} SLICE;

/* i_ino is 64 bits wide on every architecture since 7.x */
struct inode___wide {
	__u64 i_ino;
} SLICE;

struct address_space {
	struct inode *host;
} SLICE;

struct qstr {
	const unsigned char *name;
} SLICE;

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	union {
		struct hlist_node d_alias;
	} SLICE d_u;
} SLICE;

/* d_alias without d_u, 7.x */
struct dentry___flat {
	struct hlist_node d_alias;
} SLICE;

struct rb_node {
	struct rb_node *rb_right;
} SLICE;

struct rb_root {
	struct rb_node *rb_node;
} SLICE;

struct rb_root_cached {
	struct rb_root rb_root;
	struct rb_node *rb_leftmost;
} SLICE;

struct anon_vma {
	struct rb_root_cached rb_root;
} SLICE;

struct mm_struct {
	struct task_struct *owner; /* with CONFIG_MEMCG */
} SLICE;

struct vm_area_struct {
	struct mm_struct *vm_mm;
	struct anon_vma *anon_vma;
} SLICE;

struct anon_vma_chain {
	struct vm_area_struct *vma;
	struct anon_vma *anon_vma;
	struct rb_node rb;
} SLICE;

enum pageflags {
	PG_head = 16,
	PG_swapbacked = 19,
};

struct folio {
	struct list_head lru;
	struct address_space *mapping;
	unsigned long index;
	unsigned long memcg_data;
	unsigned int _nr_pages;
} SLICE;

struct folio___v6 {
	unsigned int _folio_nr_pages;
} SLICE;

struct page {
	unsigned long flags;
	struct list_head lru;
	struct address_space *mapping;
	unsigned long index;
	unsigned int compound_nr;
	unsigned char compound_order;
} SLICE;

struct page___v510 {
	struct mem_cgroup *mem_cgroup;
} SLICE;

struct sock_common {
	unsigned short skc_family;
	__u16 skc_num; /* local port */
} SLICE;

struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
	struct mem_cgroup *sk_memcg;
} SLICE;

struct socket {
	struct sock *sk;
} SLICE;

struct file {
	struct inode *f_inode;
	void *private_data;
} SLICE;

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} SLICE;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} SLICE;

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct file *file;
} SLICE;

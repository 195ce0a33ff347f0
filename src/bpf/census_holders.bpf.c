// SPDX-License-Identifier: GPL-2.0-or-later
/* What refers to dying memory cgroups without a page: tasks, the cgroup namespaces that they are in
 * or have open, and sockets where a process has them open. Iterators, which came with 5.8. */
#include "census_pins_abi.h"
#include "census_read.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline __u64 dying_css_of(struct css_set *set)
{
	int memory = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	struct cgroup_subsys_state *css = 0;
	__u32 flags = 0;

	if (!set)
		return 0;
	bpf_probe_read_kernel(&css, sizeof(css),
			      (void *)set + bpf_core_field_offset(set->subsys) +
				      memory * sizeof(void *));
	if (!css)
		return 0;
	READ(flags, &css->flags);
	return flags & CSS_DYING_BIT ? (__u64)css : 0;
}

SEC("tasks")
int census_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct census_task out = {};
	struct nsproxy *proxy;

	if (!task)
		return 0;
	out.css = dying_css_of(BPF_CORE_READ(task, cgroups));
	proxy = BPF_CORE_READ(task, nsproxy);
	if (proxy)
		out.ns_css = dying_css_of(BPF_CORE_READ(proxy, cgroup_ns, root_cset));
	if (!out.css && !out.ns_css)
		return 0;
	out.pid = BPF_CORE_READ(task, pid);
	out.tgid = BPF_CORE_READ(task, tgid);
	out.ppid = BPF_CORE_READ(task, real_parent, tgid);
	out.exit_state = BPF_CORE_READ(task, exit_state);
	/* a namespace is its process's, whichever thread went into it */
	if (!out.css)
		task = BPF_CORE_READ(task, group_leader);
	bpf_core_read(out.comm, sizeof(out.comm), &task->comm);
	bpf_seq_write(ctx->meta->seq, &out, sizeof(out));
	return 0;
}

#define MODE_TYPE   0170000
#define MODE_SOCKET 0140000

#define NSFS_MAGIC      0x6e736673
#define NEW_CGROUP_FLAG 0x02000000 /* CLONE_NEWCGROUP */

/* The css that an open /proc/PID/ns/cgroup holds. */
static __always_inline __u64 css_of_namespace(struct inode *inode)
{
	struct ns_common *ns = BPF_CORE_READ(inode, i_private);
	struct ns_common___typed *typed = (void *)ns;
	struct cgroup_namespace *cgroup_ns;
	__u32 type = 0;

	if (!ns || BPF_CORE_READ(inode, i_sb, s_magic) != NSFS_MAGIC)
		return 0;
	if (bpf_core_field_exists(typed->ns_type))
		type = BPF_CORE_READ(typed, ns_type);
	else if (bpf_core_field_exists(((struct proc_ns_operations *)0)->type))
		type = BPF_CORE_READ(ns, ops, type);
	if (type != NEW_CGROUP_FLAG)
		return 0;
	cgroup_ns = (void *)ns - OFFSET(cgroup_namespace, ns);
	return dying_css_of(BPF_CORE_READ(cgroup_ns, root_cset));
}

/* The css that a socket is charged to. */
static __always_inline __u64 css_of_socket(struct sock *sk)
{
	struct mem_cgroup *memcg = BPF_CORE_READ(sk, sk_memcg);
	struct cgroup_subsys_state *css = (void *)memcg + OFFSET(mem_cgroup, css);
	__u32 flags = 0;

	if (!memcg)
		return 0;
	READ(flags, &css->flags);
	return flags & CSS_DYING_BIT ? (__u64)css : 0;
}

SEC("task_files")
int census_files(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct census_open out = {};
	struct inode *inode;

	if (!task || !file)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	if ((BPF_CORE_READ(inode, i_mode) & MODE_TYPE) == MODE_SOCKET) {
		struct socket *socket = BPF_CORE_READ(file, private_data);
		struct sock *sk = BPF_CORE_READ(socket, sk);
		out.css = css_of_socket(sk);
		out.socket = 1;
		out.protocol = BPF_CORE_READ(sk, sk_protocol);
		out.family = BPF_CORE_READ(sk, __sk_common.skc_family);
		out.port = BPF_CORE_READ(sk, __sk_common.skc_num);
	} else {
		out.css = css_of_namespace(inode);
	}
	if (!out.css)
		return 0;
	if (bpf_core_field_size(inode->i_ino) == 8)
		bpf_core_read(&out.inode, 8, &inode->i_ino);
	out.pid = BPF_CORE_READ(task, tgid);
	out.ppid = BPF_CORE_READ(task, real_parent, tgid);
	bpf_core_read(out.comm, sizeof(out.comm), &task->comm);
	bpf_seq_write(ctx->meta->seq, &out, sizeof(out));
	return 0;
}

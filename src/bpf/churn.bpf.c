// SPDX-License-Identifier: GPL-2.0-or-later
/* Who makes, removes and finally releases memory cgroups. */
#include "churn_abi.h"
#include "own_cgroup.h"

char LICENSE[] SEC("license") = "GPL";

unsigned long long lost;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, CHURN_RING);
} events SEC(".maps");

struct cgroup___churn {
	struct kernfs_node *kn;
	struct cgroup_root *root;
} SLICE;

static __always_inline bool has_memory(struct cgroup___churn *c)
{
	int memory = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);

	return BPF_CORE_READ(c, root, subsys_mask) & 1u << memory;
}

static __always_inline void fill(struct churn_raw *e, struct cgroup___churn *c, const char *path,
				 int type)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	e->time_ns = bpf_ktime_get_ns();
	e->type = type;
	e->id = BPF_CORE_READ(c, kn, id);
	e->pid = e->ppid = 0;
	e->comm[0] = e->path[0] = 0;
	if (type != CHURN_RELEASE) { /* that runs in a kernel worker */
		e->pid = bpf_get_current_pid_tgid() >> 32;
		e->ppid = BPF_CORE_READ(task, real_parent, tgid);
		bpf_get_current_comm(e->comm, sizeof(e->comm));
	}
	bpf_probe_read_kernel_str(e->path, sizeof(e->path), path);
}

static __always_inline int note(struct cgroup *cgroup, const char *path, int type)
{
	struct cgroup___churn *c = (void *)cgroup;

	if (!has_memory(c))
		return 0;
	struct churn_raw *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		__sync_fetch_and_add(&lost, 1);
		return 0;
	}
	fill(e, c, path, type);
	bpf_ringbuf_submit(e, 0);
	return 0;
}

/* Who made it is told in full: a helper that ends at once cannot be looked at afterwards. */
static __always_inline int note_made(struct cgroup *cgroup, const char *path)
{
	struct cgroup___churn *c = (void *)cgroup;
	struct task_struct *task = (void *)bpf_get_current_task(), *parent;

	if (!has_memory(c))
		return 0;
	struct churn_raw_made *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		__sync_fetch_and_add(&lost, 1);
		return 0;
	}
	fill(&e->raw, c, path, CHURN_MKDIR);
	e->parent_comm[0] = 0;
	parent = BPF_CORE_READ(task, real_parent);
	bpf_probe_read_kernel_str(e->parent_comm, sizeof(e->parent_comm), parent->comm);
	e->names_len = cgroup_names(own_css(task), e->names, CHURN_NAMES, CHURN_NAME);
	bpf_ringbuf_submit(e, 0);
	return 0;
}

SEC("raw_tp/cgroup_mkdir")
int churn_mkdir(struct bpf_raw_tracepoint_args *ctx)
{
	return note_made((void *)ctx->args[0], (void *)ctx->args[1]);
}

SEC("raw_tp/cgroup_rmdir")
int churn_rmdir(struct bpf_raw_tracepoint_args *ctx)
{
	return note((void *)ctx->args[0], (void *)ctx->args[1], CHURN_RMDIR);
}

SEC("raw_tp/cgroup_release")
int churn_release(struct bpf_raw_tracepoint_args *ctx)
{
	return note((void *)ctx->args[0], (void *)ctx->args[1], CHURN_RELEASE);
}

SEC("raw_tp/cgroup_attach_task")
int churn_attach(struct bpf_raw_tracepoint_args *ctx)
{
	return note((void *)ctx->args[0], (void *)ctx->args[1], CHURN_ATTACH);
}

/* The current task's own memory cgroup, and the names of cgroups. */
#pragma once

#include "kernel_slices.h"

struct kernfs_node___parent {
	struct kernfs_node *parent;
} SLICE;

/* renamed in 6.15 */
struct kernfs_node___rcu_parent {
	struct kernfs_node *__parent;
} SLICE;

static __always_inline struct kernfs_node *parent_of(struct kernfs_node *kn)
{
	struct kernfs_node *up = 0;

	if (bpf_core_field_exists(((struct kernfs_node___parent *)0)->parent)) {
		struct kernfs_node___parent *p = (void *)kn;
		bpf_core_read(&up, sizeof(up), &p->parent);
	} else if (bpf_core_field_exists(((struct kernfs_node___rcu_parent *)0)->__parent)) {
		struct kernfs_node___rcu_parent *p = (void *)kn;
		bpf_core_read(&up, sizeof(up), &p->__parent);
	}
	return up;
}

static __always_inline struct cgroup_subsys_state *own_css(struct task_struct *task)
{
	int memory = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *css = 0;

	bpf_probe_read_kernel(&css, sizeof(css),
			      (void *)set + bpf_core_field_offset(set->subsys) +
				      memory * sizeof(void *));
	return css;
}

enum { CLIMB = 32 };

/* Its name and those of all above it, each with its NUL, the innermost first, the root's empty:
 * src/rec/cgroup_names.h. `names` has room for most + each bytes; most is a power of two. Returns
 * how many were written. */
static __always_inline unsigned int cgroup_names(struct cgroup_subsys_state *css, char *names,
						 unsigned int most, unsigned int each)
{
	struct kernfs_node *kn = BPF_CORE_READ(css, cgroup, kn);
	unsigned long at = 0; /* masked below: the verifier forgets the bound over the loop */

	for (int i = 0; i < CLIMB && kn; i++) {
		if (at >= most)
			break;
		long n = bpf_probe_read_kernel_str(names + (at & (most - 1)), each,
						   BPF_CORE_READ(kn, name));
		if (n <= 0 || n > each)
			break;
		at += n;
		kn = parent_of(kn);
	}
	return at;
}

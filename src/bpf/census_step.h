/* Every memory cgroup that the kernel still holds, dying ones with all their numbers.
 *
 * A walk is a sequence of slices. Each call does at most `budget` steps and leaves its place in
 * `st`, so that no core is held for long. Nothing is locked: the list may change between and during
 * slices. So each step first checks that the css it came to is the one it expects (parent, growing
 * serial number, not released) and afterwards that it still is; otherwise the record is dropped and
 * the level is entered again from its parent, which skips what was seen, because siblings are in
 * the order of their serial numbers.
 *
 * css_look(), css_touch(), css_is_same(), record_fill() and enum how come from census_copies.h
 * or census_loads.h, which is included before. */
#pragma once

/* The barrier keeps clang from dropping the mask that the verifier needs to see. */
static __always_inline struct census_level *level_at(__u32 depth)
{
	asm volatile("" : "+r"(depth));
	return &st.level[depth & (CENSUS_DEPTH - 1)];
}

/* The root is that of the hierarchy, not the one that a namespace shows. */
static __always_inline void walk_start(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	int memory = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id) * sizeof(void *);
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *css = 0;
	__u64 serial = 0;

	bpf_probe_read_kernel(&css, sizeof(css), (void *)set + OFFSET(css_set, subsys) + memory);
	struct cgroup_root *root = BPF_CORE_READ(css, ss, root);
	bpf_probe_read_kernel(&css, sizeof(css),
			      (void *)root + OFFSET(cgroup_root, cgrp) + OFFSET(cgroup, subsys) +
				      memory);
	READ(serial, &css->serial_nr);
	st.level[0].css = (__u64)css;
	st.level[0].serial = serial;
	st.depth = 1;
	st.last = 0;
	st.pos = 0;
	st.live = css ? 1 : 0; /* the root itself */
}

/* Up one level: go on behind the node that we came down through, if it is still that node. */
static __always_inline int walk_ascend(void)
{
	__u32 depth = st.depth - 1;
	struct cgroup_subsys_state *css, *parent = 0;
	__u64 serial = 0, next = 0;
	__u32 flags = 0;

	if (!depth || depth >= CENSUS_DEPTH) {
		st.ctl.done = 1;
		return 1;
	}
	css = (void *)level_at(depth)->css;
	READ(next, &css->sibling.next);
	READ(serial, &css->serial_nr);
	READ(parent, &css->parent);
	READ(flags, &css->flags);
	st.depth = depth;
	st.last = level_at(depth)->serial;
	if (serial == st.last && !(flags & CSS_RELEASED_BIT) &&
	    (__u64)parent == level_at(depth - 1)->css)
		st.pos = next;
	else
		st.pos = 0;
	return 0;
}

/* Enter a level from its parent; if that is not there any more, the level ends here. */
static __always_inline int walk_enter(struct census_level *level)
{
	struct cgroup_subsys_state *parent = (void *)level->css;
	__u64 serial = 0, first = 0;

	READ(first, &parent->children.next);
	READ(serial, &parent->serial_nr);
	st.pos = serial == level->serial ? first
					 : level->css + OFFSET(cgroup_subsys_state, children);
	return 0;
}

static __always_inline void walk_descend(__u64 css, __u64 serial, __u64 child)
{
	if (st.depth >= CENSUS_DEPTH - 1) {
		st.too_deep++;
		return;
	}
	struct census_level *level = level_at(st.depth);
	level->css = css;
	level->serial = serial;
	st.depth++;
	st.last = 0;
	st.pos = child;
}

/* 1 = the slice ends here. */
static __always_inline int walk_step(enum how how)
{
	struct census_level *level = level_at(st.depth - 1);
	__u64 parent = level->css, pos = st.pos;
	__u32 fresh = st.fresh, n = st.ctl.out_n;
	struct css_view v;

	st.ctl.steps++;
	st.fresh = 0;
	if (!pos)
		return walk_enter(level);
	if (pos == parent + OFFSET(cgroup_subsys_state, children))
		return walk_ascend();
	__u64 css = pos - OFFSET(cgroup_subsys_state, sibling);
	if (!css_look(css, &v) || v.parent != parent || !v.next ||
	    (fresh && v.flags & CSS_RELEASED_BIT)) {
		st.restarts++;
		st.pos = 0;
		return 0;
	}
	if (v.serial <= st.last || v.flags & CSS_RELEASED_BIT) {
		st.pos = v.next;
		return 0;
	}
	bool inner = v.child != css + OFFSET(cgroup_subsys_state, children);
	bool dying = v.flags & CSS_DYING_BIT;
	css_touch(v.next);
	if (inner || dying) {
		struct census_rec *rec =
			n < CENSUS_OUT ? bpf_map_lookup_elem(&records, &n) : (void *)0;
		if (!rec)
			return 1;
		rec->css = css;
		rec->serial = v.serial;
		rec->dying = dying;
		rec->depth = st.depth;
		rec->children = inner;
		record_fill(css, dying, rec, how);
	}
	if (!css_is_same(css, &v)) {
		st.discarded++;
		st.pos = 0;
		return 0;
	}
	if (inner || dying)
		st.ctl.out_n = n + 1;
	if (dying)
		st.dying++;
	else
		st.live++;
	if (v.serial > st.max_serial)
		st.max_serial = v.serial;
	st.last = v.serial;
	st.pos = v.next;
	if (inner)
		walk_descend(css, v.serial, v.child);
	return 0;
}

static __always_inline void walk_slice_start(void)
{
	slice_start(&st.ctl);
	st.fresh = 1;
	if (!st.depth)
		walk_start();
}

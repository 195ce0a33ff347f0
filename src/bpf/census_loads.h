/* The records of a walk by plain loads (direct_abi.h). */
#pragma once

#include "census_record.h"

enum how { WITH_LOOPS };

static __always_inline bool css_look(__u64 css, struct css_view *v)
{
	struct cgroup_subsys_state *ptr = DIRECT_CAST(css, DIRECT_CSS);

	v->next = (__u64)ptr->sibling.next;
	v->child = (__u64)ptr->children.next;
	v->flags = ptr->flags;
	v->serial = ptr->serial_nr;
	v->parent = (__u64)ptr->parent;
	return true; /* what cannot be read is 0: no parent */
}

/* Asks for what the next two steps begin with, while this one waits for its own: what a css leads
 * to is far away in memory. More than this would be in its way. */
static __always_inline void css_touch(__u64 sibling)
{
	__u64 address = sibling - OFFSET(cgroup_subsys_state, sibling);
	__u64 nodes = address - OFFSET(mem_cgroup, css) + OFFSET(mem_cgroup, nodeinfo);
	struct cgroup_subsys_state *css = DIRECT_CAST(address, DIRECT_CSS);
	struct list_head *word = DIRECT_CAST(nodes, DIRECT_LIST_HEAD);
	__u64 after = (__u64)css->sibling.next - OFFSET(cgroup_subsys_state, sibling);
	struct cgroup_subsys_state *next = DIRECT_CAST(after, DIRECT_CSS);

	asm volatile("" : : "r"(css->cgroup->kn), "r"(word->next));
	asm volatile("" : : "r"(next->serial_nr), "r"(next->cgroup));
}

/* Read again. */
static __always_inline bool css_is_same(__u64 css, const struct css_view *v)
{
	struct cgroup_subsys_state *ptr = DIRECT_CAST(css, DIRECT_CSS);

	return *(volatile __u64 *)&ptr->serial_nr == v->serial;
}

/* Non-zero when a byte of the word is 0. */
static __always_inline __u64 word_end(__u64 w)
{
	return (w - 0x0101010101010101ull) & ~w & 0x8080808080808080ull;
}

/* In words as far as a name mostly goes: the helper for strings goes byte by byte. The verifier
 * takes them for an array of counters, whose type is a number's. */
static __always_inline bool name_copy_words(struct census_rec *rec, __u64 name)
{
	__u64 around = name - OFFSET(mem_cgroup_per_node, lru_zone_size);
	const __u64 *from = (void *)DIRECT_CAST(around, DIRECT_PER_NODE) +
			    OFFSET(mem_cgroup_per_node, lru_zone_size);
	__u64 *to = (__u64 *)rec->name;

	to[0] = from[0];
	to[1] = from[1];
	to[2] = from[2];
	to[3] = from[3];
	if (word_end(to[0]) | word_end(to[1]) | word_end(to[2]) | word_end(to[3]))
		return true;
	to[4] = from[4];
	to[5] = from[5];
	to[6] = from[6];
	to[7] = from[7];
	to[8] = from[8];
	return word_end(to[4]) | word_end(to[5]) | word_end(to[6]) | word_end(to[7]) |
	       word_end(to[8]);
}

/* Pages on the LRU lists of one node: exact, without the lag of memory.stat, and not moved to the
 * parent. */
static __always_inline bool lru_add_node(__u64 memcg, __u32 node, __u64 *lru)
{
	__u64 at = memcg + OFFSET(mem_cgroup, nodeinfo) + node * sizeof(void *);
	struct list_head *word = DIRECT_CAST(at, DIRECT_LIST_HEAD);
	__u64 address = (__u64)word->next;
	struct mem_cgroup_per_node *pn = DIRECT_CAST(address, DIRECT_PER_NODE);

	lru_add_zones((void *)pn + OFFSET(mem_cgroup_per_node, lru_zone_size),
		      SIZE(mem_cgroup_per_node, lru_zone_size), lru);
	if (has_gens())
		lru_add_gens((void *)pn + OFFSET(mem_cgroup_per_node, lruvec) +
				     OFFSET(lruvec, lrugen.nr_pages),
			     SIZE(lruvec, lrugen.nr_pages), lru);
	return address != 0;
}

struct add_nodes {
	__u64 memcg;
	__u32 record;
};

static long add_node(__u32 i, struct add_nodes *a)
{
	__u32 n = a->record;
	__u64 memcg = a->memcg;
	struct census_rec *rec = bpf_map_lookup_elem(&records, &n);

	if (rec)
		lru_add_node(memcg, i + 1, rec->lru);
	return 0;
}

static __always_inline __u32 record_lru(__u64 memcg, struct census_rec *rec)
{
	rec->lru[0] = rec->lru[1] = rec->lru[2] = rec->lru[3] = rec->lru[4] = 0;
	if (!EXISTS(mem_cgroup_per_node, lru_zone_size) || !lru_add_node(memcg, 0, rec->lru))
		return 0;
	if (host.nodes > 1) {
		struct add_nodes a = { memcg, st.ctl.out_n };
		bpf_loop(host.nodes - 1, add_node, &a, 0);
	}
	return CENSUS_HAVE_LRU;
}

static __always_inline __u32 record_kmem(const struct mem_cgroup *memcg, struct census_rec *rec)
{
	if (!host.v1 || !bpf_core_field_exists(memcg->kmem)) /* v2 does not charge it */
		return 0;
	rec->kmem_pages = memcg->kmem.usage.counter;
	return CENSUS_HAVE_KMEM;
}

/* Only where the host has swap at all. */
static __always_inline __u32 record_swap(const struct mem_cgroup *memcg, struct census_rec *rec)
{
	__u32 have = 0;

	if (host.v1 && bpf_core_field_exists(memcg->memsw)) {
		rec->swap_pages = memcg->memsw.usage.counter;
		have |= CENSUS_HAVE_SWAP;
	} else if (!host.v1 && bpf_core_field_exists(memcg->swap)) {
		rec->swap_pages = memcg->swap.usage.counter;
		have |= CENSUS_HAVE_SWAP;
	}
	if (has_id_refs()) {
		rec->swap_refs = memcg->id.ref.refs.counter;
		have |= CENSUS_HAVE_SWAP_REFS;
	}
	return have;
}

static __always_inline void record_fill(__u64 address, bool dying, struct census_rec *rec,
					enum how how)
{
	struct cgroup_subsys_state *css = DIRECT_CAST(address, DIRECT_CSS);
	struct kernfs_node *kn = css->cgroup->kn;
	__u64 name = (__u64)kn->name;
	__u32 have = 0;

	/* What pointers lead to is far away in memory: all of it is asked for before the name,
	 * whose copy is a call, so that the waits overlap. */
	rec->id = kn->id;
	if (dying) {
		__u64 outer = address - OFFSET(mem_cgroup, css);
		struct mem_cgroup *memcg = DIRECT_CAST(outer, DIRECT_MEMCG);
		have |= record_kmem(memcg, rec);
		if (host.detail & st.detail & CENSUS_DETAIL_REFS) {
			rec->refs = css->refcnt.data->count.counter;
			have |= CENSUS_HAVE_REFS;
			if (rec->children) {
				rec->below = css->cgroup->nr_dying_descendants;
				have |= CENSUS_HAVE_BELOW;
			}
		}
		have |= record_lru(outer, rec);
		if (wants_usage(rec)) {
			rec->usage_pages = memcg->memory.usage.counter;
			have |= CENSUS_HAVE_USAGE;
		}
		if (host.detail & st.detail & CENSUS_DETAIL_SWAP)
			have |= record_swap(memcg, rec);
	}
	rec->have = have;
	if (!name_copy_words(rec, name)) {
		rec->name[0] = 0;
		bpf_probe_read_kernel_str(rec->name, sizeof(rec->name), (void *)name);
	}
}

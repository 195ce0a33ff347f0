/* The records of a walk by helper calls, each of which copies a whole struct: a call costs as much
 * as half a cache line. */
#pragma once

#include "census_record.h"

/* A constant in each program. */
enum how {
	WITH_LOOPS,
	WITHOUT_LOOPS, /* no bpf_loop */
};

/* ---- the css itself ---- */

/* Words of a copy are found by offsets that are only known after relocation. */
static __always_inline __u64 css_word(__u32 offset)
{
	return offset <= sizeof(st.css) - 8 ? st.css[(offset / 8) & (CENSUS_CSS_WORDS - 1)] : 0;
}

static __always_inline __u64 kn_word(__u32 offset)
{
	return offset <= sizeof(st.kn) - 8 ? st.kn[(offset / 8) & (CENSUS_KN_WORDS - 1)] : 0;
}

#define CSS_WORD(field) css_word(OFFSET(cgroup_subsys_state, field))

static __always_inline bool css_look(__u64 css, struct css_view *v)
{
	/* up to the last field that is asked for; what lies behind it is another cache line */
	__u32 size = OFFSET(cgroup_subsys_state, parent) + 8;
	__u32 serial = OFFSET(cgroup_subsys_state, serial_nr) + 8;
	__u32 flags = OFFSET(cgroup_subsys_state, flags);

	if (serial > size)
		size = serial;
	if (bpf_probe_read_kernel(st.css, size < sizeof(st.css) ? size : sizeof(st.css),
				  (void *)css))
		return false;
	v->next = CSS_WORD(sibling.next);
	v->child = CSS_WORD(children.next);
	v->flags = css_word(flags) >> (flags & 4) * 8;
	v->serial = CSS_WORD(serial_nr);
	v->parent = CSS_WORD(parent);
	return true;
}

/* A call would wait for it. */
static __always_inline void css_touch(__u64 sibling)
{
}

/* Read again. */
static __always_inline bool css_is_same(__u64 css, const struct css_view *v)
{
	struct cgroup_subsys_state *ptr = (void *)css;
	__u64 serial = 0;

	READ(serial, &ptr->serial_nr);
	return serial == v->serial;
}

/* ---- name and id ---- */

/* The id, and where the name lies. */
static __always_inline __u64 record_id(struct census_rec *rec)
{
	struct cgroup *cgroup = (void *)CSS_WORD(cgroup);
	__u32 size = bpf_core_type_size(struct kernfs_node);
	struct kernfs_node *kn = 0;

	READ(kn, &cgroup->kn);
	bpf_probe_read_kernel(st.kn, size < sizeof(st.kn) ? size : sizeof(st.kn), kn);
	if (bpf_core_type_exists(union kernfs_node_id))
		rec->id = kn_word(OFFSET(kernfs_node___old, id.id)) & 0xffffffff;
	else
		rec->id = kn_word(OFFSET(kernfs_node, id));
	return kn_word(OFFSET(kernfs_node, name));
}

/* ---- pages ---- */

/* Pages on the LRU lists of one node: exact, without the lag of memory.stat, and not moved to the
 * parent. */
static __always_inline bool lru_add_node(__u64 memcg, __u32 node, __u64 *lru)
{
	__u64 at = memcg + OFFSET(mem_cgroup, nodeinfo) + node * sizeof(void *);
	__u32 zones = SIZE(mem_cgroup_per_node, lru_zone_size);
	__u32 gens = SIZE(lruvec, lrugen.nr_pages);
	struct mem_cgroup_per_node *pn = 0;

	bpf_probe_read_kernel(&pn, sizeof(pn), (void *)at);
	if (zones > sizeof(st.words))
		zones = sizeof(st.words);
	if (!pn || bpf_core_read(st.words, zones, &pn->lru_zone_size))
		return false;
	lru_add_zones(st.words, zones, lru);
	if (!has_gens())
		return true;
	if (gens > sizeof(st.words))
		gens = sizeof(st.words);
	if (bpf_core_read(st.words, gens, &pn->lruvec.lrugen.nr_pages))
		return false;
	lru_add_gens(st.words, gens, lru);
	return true;
}

struct add_nodes {
	__u64 memcg;
	__u32 record;
};

static long add_node(__u32 i, struct add_nodes *a)
{
	__u32 n = a->record;
	struct census_rec *rec = bpf_map_lookup_elem(&records, &n);

	if (rec)
		lru_add_node(a->memcg, i + 1, rec->lru);
	return 0;
}

/* One copy of the code instead of one per step and node. */
static __noinline bool add_node_chunk(__u64 memcg, __u32 node, __u32 record)
{
	struct census_rec *rec = bpf_map_lookup_elem(&records, &record);

	return rec && lru_add_node(memcg, node, rec->lru);
}

static __always_inline __u32 record_lru(__u64 memcg, struct census_rec *rec, enum how how)
{
	rec->lru[0] = rec->lru[1] = rec->lru[2] = rec->lru[3] = rec->lru[4] = 0;
	if (!EXISTS(mem_cgroup_per_node, lru_zone_size))
		return 0;
	if (how == WITHOUT_LOOPS) {
		__u32 n = st.ctl.out_n;
		if (!add_node_chunk(memcg, 0, n))
			return 0;
		if (host.nodes > 1)
			add_node_chunk(memcg, 1, n);
		if (host.nodes > 2)
			add_node_chunk(memcg, 2, n);
		if (host.nodes > 3)
			add_node_chunk(memcg, 3, n);
		return CENSUS_HAVE_LRU;
	}
	if (!lru_add_node(memcg, 0, rec->lru))
		return 0;
	if (host.nodes > 1) {
		struct add_nodes a = { memcg, st.ctl.out_n };
		bpf_loop(host.nodes - 1, add_node, &a, 0);
	}
	return CENSUS_HAVE_LRU;
}

/* ---- counters ---- */

static __always_inline __u32 record_refs(__u64 css, struct census_rec *rec)
{
	long count = 0;

	if (EXISTS(cgroup_subsys_state, refcnt.data)) {
		struct percpu_ref_data *data = (void *)CSS_WORD(refcnt.data);
		if (!data || READ(count, &data->count.counter))
			return 0;
	} else {
		struct cgroup_subsys_state___old *old = (void *)css;
		if (!bpf_core_field_exists(old->refcnt.count) ||
		    READ(count, &old->refcnt.count.counter))
			return 0;
	}
	rec->refs = count;
	return CENSUS_HAVE_REFS;
}

static __always_inline __u32 record_usage(struct mem_cgroup *memcg, struct census_rec *rec)
{
	long usage = 0;

	READ(usage, &memcg->memory.usage.counter);
	rec->usage_pages = usage;
	return CENSUS_HAVE_USAGE;
}

static __always_inline __u32 record_below(struct census_rec *rec)
{
	struct cgroup *cgroup = (void *)CSS_WORD(cgroup);
	int below = 0;

	if (!rec->children || !bpf_core_field_exists(cgroup->nr_dying_descendants) ||
	    READ(below, &cgroup->nr_dying_descendants))
		return 0;
	rec->below = below;
	return CENSUS_HAVE_BELOW;
}

/* Only where the host has swap at all. */
static __always_inline __u32 record_swap(struct mem_cgroup *memcg, struct census_rec *rec)
{
	long pages = 0;
	__u32 have = 0;

	if (host.v1 && bpf_core_field_exists(memcg->memsw)) {
		READ(pages, &memcg->memsw.usage.counter);
		have |= CENSUS_HAVE_SWAP;
	} else if (!host.v1 && bpf_core_field_exists(memcg->swap)) {
		READ(pages, &memcg->swap.usage.counter);
		have |= CENSUS_HAVE_SWAP;
	}
	rec->swap_pages = pages;
	if (has_id_refs()) {
		int refs = 0;
		READ(refs, &memcg->id.ref.refs.counter);
		rec->swap_refs = refs;
		have |= CENSUS_HAVE_SWAP_REFS;
	}
	return have;
}

static __always_inline __u32 record_kmem(struct mem_cgroup *memcg, struct census_rec *rec)
{
	long pages = 0;

	if (!host.v1 || !bpf_core_field_exists(memcg->kmem)) /* v2 does not charge it */
		return 0;
	READ(pages, &memcg->kmem.usage.counter);
	rec->kmem_pages = pages;
	return CENSUS_HAVE_KMEM;
}

static __always_inline void record_fill(__u64 css, bool dying, struct census_rec *rec, enum how how)
{
	__u64 memcg = css - OFFSET(mem_cgroup, css), name = record_id(rec);
	__u32 have = 0;

	if (dying) {
		have |= record_kmem((void *)memcg, rec);
		if (host.detail & st.detail & CENSUS_DETAIL_REFS)
			have |= record_refs(css, rec) | record_below(rec);
		have |= record_lru(memcg, rec, how);
		if (wants_usage(rec))
			have |= record_usage((void *)memcg, rec);
		if (host.detail & st.detail & CENSUS_DETAIL_SWAP)
			have |= record_swap((void *)memcg, rec);
	}
	rec->have = have;
	rec->name[0] = 0;
	bpf_probe_read_kernel_str(rec->name, sizeof(rec->name), (void *)name);
}

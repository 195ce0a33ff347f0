/* What the walk reads of one css, and the record of a zombie: its name and numbers. */
#pragma once

#include "census_read.h"

struct walk_state st;
const volatile struct census_host host SEC(".rodata");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CENSUS_OUT);
	__type(key, __u32);
	__type(value, struct census_rec);
} records SEC(".maps");

/* How memory is read; a constant in each program. */
enum how {
	BY_LOADS,      /* plain loads (direct_abi.h) */
	BY_COPIES,     /* one helper call for a whole struct: each costs as half a cache line */
	WITHOUT_LOOPS, /* the same, and no bpf_loop */
};

/* ---- the css itself ---- */

struct css_view {
	struct cgroup_subsys_state *ptr; /* typed where loads can follow it */
	__u64 serial, next, child, parent;
	__u32 flags;
};

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

static __always_inline bool css_look(__u64 css, enum how how, struct css_view *v)
{
	/* up to the last field that is asked for; what lies behind it is another cache line */
	__u32 size = OFFSET(cgroup_subsys_state, parent) + 8;
	__u32 serial = OFFSET(cgroup_subsys_state, serial_nr) + 8;
	__u32 flags = OFFSET(cgroup_subsys_state, flags);

	if (how == BY_LOADS) {
		v->ptr = DIRECT_CAST(css, DIRECT_CSS);
		v->next = (__u64)v->ptr->sibling.next;
		v->child = (__u64)v->ptr->children.next;
		v->flags = v->ptr->flags;
		v->serial = v->ptr->serial_nr;
		v->parent = (__u64)v->ptr->parent;
		return true; /* what cannot be read is 0: no parent */
	}
	if (serial > size)
		size = serial;
	v->ptr = (void *)css;
	if (bpf_probe_read_kernel(st.css, size < sizeof(st.css) ? size : sizeof(st.css), v->ptr))
		return false;
	v->next = CSS_WORD(sibling.next);
	v->child = CSS_WORD(children.next);
	v->flags = css_word(flags) >> (flags & 4) * 8;
	v->serial = CSS_WORD(serial_nr);
	v->parent = CSS_WORD(parent);
	return true;
}

/* Read again. */
static __always_inline __u64 css_serial(__u64 css, const struct css_view *v, enum how how)
{
	struct cgroup_subsys_state *ptr = (void *)css;
	__u64 serial = 0;

	if (how == BY_LOADS)
		return *(volatile __u64 *)&v->ptr->serial_nr;
	READ(serial, &ptr->serial_nr);
	return serial;
}

/* ---- name and id ---- */

/* Non-zero when a byte of the word is 0. */
static __always_inline __u64 word_end(__u64 w)
{
	return (w - 0x0101010101010101ull) & ~w & 0x8080808080808080ull;
}

/* In words as far as a name mostly goes: the helper for strings goes byte by byte. */
static __always_inline bool name_copy_words(struct census_rec *rec, __u64 name)
{
	const __u64 *w = (const __u64 *)rec->name;

	if (bpf_probe_read_kernel(rec->name, 32, (void *)name))
		return false;
	if (word_end(w[0]) | word_end(w[1]) | word_end(w[2]) | word_end(w[3]))
		return true;
	if (bpf_probe_read_kernel(rec->name + 32, 40, (void *)name + 32))
		return false;
	return word_end(w[4]) | word_end(w[5]) | word_end(w[6]) | word_end(w[7]) | word_end(w[8]);
}

/* The id, and where the name lies. */
static __always_inline __u64 record_id(const struct css_view *v, struct census_rec *rec,
				       enum how how)
{
	struct kernfs_node *kn = 0;
	__u64 name;

	if (how == BY_LOADS) {
		kn = v->ptr->cgroup->kn;
		name = (__u64)kn->name;
		rec->id = kn->id;
	} else {
		struct cgroup *cgroup = (void *)CSS_WORD(cgroup);
		__u32 size = bpf_core_type_size(struct kernfs_node);
		READ(kn, &cgroup->kn);
		bpf_probe_read_kernel(st.kn, size < sizeof(st.kn) ? size : sizeof(st.kn), kn);
		name = kn_word(OFFSET(kernfs_node, name));
		if (bpf_core_type_exists(union kernfs_node_id))
			rec->id = kn_word(OFFSET(kernfs_node___old, id.id)) & 0xffffffff;
		else
			rec->id = kn_word(OFFSET(kernfs_node, id));
	}
	return name;
}

static __always_inline void record_name(__u64 name, struct census_rec *rec, enum how how)
{
	if (how == BY_LOADS && name_copy_words(rec, name))
		return;
	rec->name[0] = 0;
	bpf_probe_read_kernel_str(rec->name, sizeof(rec->name), (void *)name);
}

/* ---- pages ---- */

/* Of one list in all zones; `step` words apart. Written out, because the number of zones is only
 * known after relocation, and loops of unknown length cost the verifier much. */
static __always_inline __u64 zones_sum(const __u64 *w, __u32 zones, __u32 step)
{
	__u64 sum = 0;

	if (zones > 0)
		sum += w[0];
	if (zones > 1)
		sum += w[step];
	if (zones > 2)
		sum += w[2 * step];
	if (zones > 3)
		sum += w[3 * step];
	if (zones > 4)
		sum += w[4 * step];
	if (zones > 5)
		sum += w[5 * step];
	return sum;
}

/* lru_zone_size: zone by zone, in each the lists. */
static __always_inline void lru_add_zones(const __u64 *w, __u32 size, __u64 *lru)
{
	__u32 zones = size / (CENSUS_LRUS * 8);

	lru[0] += zones_sum(w, zones, CENSUS_LRUS);
	lru[1] += zones_sum(w + 1, zones, CENSUS_LRUS);
	lru[2] += zones_sum(w + 2, zones, CENSUS_LRUS);
	lru[3] += zones_sum(w + 3, zones, CENSUS_LRUS);
	lru[4] += zones_sum(w + 4, zones, CENSUS_LRUS);
}

/* A list's pages in one generation; a sum may be below 0 for a moment. */
static __always_inline __u64 gen_sum(const __u64 *w, __u32 zones)
{
	__u64 sum = zones_sum(w, zones, 1);

	return sum & ~((__s64)sum >> 63);
}

/* lrugen.nr_pages (6.1): 4 generations, in each anonymous and file, then the zones. */
static __always_inline void lru_add_gens(const __u64 *w, __u32 size, __u64 *lru)
{
	__u32 zones = size / 64;

	lru[0] += gen_sum(w, zones) + gen_sum(w + 2 * zones, zones) +
		  gen_sum(w + 4 * zones, zones) + gen_sum(w + 6 * zones, zones);
	lru[2] += gen_sum(w + zones, zones) + gen_sum(w + 3 * zones, zones) +
		  gen_sum(w + 5 * zones, zones) + gen_sum(w + 7 * zones, zones);
}

/* Whether this kernel has multi-gen lists. Both layouts are named, because a type that an object
 * does not name has no members in its slice of the BTF. */
static __always_inline bool has_gens(void)
{
	return EXISTS(lruvec, lrugen.nr_pages) || EXISTS(lruvec___old, lrugen.nr_pages);
}

/* Pages on the LRU lists of one node: exact, without the lag of memory.stat, and not moved to the
 * parent. */
static __always_inline bool lru_add_node(__u64 memcg, __u32 node, __u64 *lru, enum how how)
{
	__u64 at = memcg + OFFSET(mem_cgroup, nodeinfo) + node * sizeof(void *);
	__u32 zones = SIZE(mem_cgroup_per_node, lru_zone_size);
	__u32 gens = SIZE(lruvec, lrugen.nr_pages);
	struct mem_cgroup_per_node *pn = 0;

	if (how == BY_LOADS) {
		struct list_head *word = DIRECT_CAST(at, DIRECT_LIST_HEAD);
		__u64 address = (__u64)word->next;
		pn = DIRECT_CAST(address, DIRECT_PER_NODE);
		lru_add_zones((void *)pn + OFFSET(mem_cgroup_per_node, lru_zone_size), zones, lru);
		if (has_gens())
			lru_add_gens((void *)pn + OFFSET(mem_cgroup_per_node, lruvec) +
					     OFFSET(lruvec, lrugen.nr_pages),
				     gens, lru);
		return address != 0;
	}
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

static long add_node_copies(__u32 i, struct add_nodes *a)
{
	__u32 n = a->record;
	struct census_rec *rec = bpf_map_lookup_elem(&records, &n);

	if (rec)
		lru_add_node(a->memcg, i + 1, rec->lru, BY_COPIES);
	return 0;
}

/* One copy of the code instead of one per step and node. */
static __noinline bool add_node_chunk(__u64 memcg, __u32 node, __u32 record)
{
	struct census_rec *rec = bpf_map_lookup_elem(&records, &record);

	return rec && lru_add_node(memcg, node, rec->lru, WITHOUT_LOOPS);
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
	if (!lru_add_node(memcg, 0, rec->lru, how))
		return 0;
	if (host.nodes > 1) {
		struct add_nodes a = { memcg, st.ctl.out_n };
		bpf_loop(host.nodes - 1, add_node_copies, &a, 0);
	}
	return CENSUS_HAVE_LRU;
}

/* ---- counters ---- */

#define MEMCG_READ(ret, memcg, field, how)          \
	do {                                        \
		if ((how) == BY_LOADS)              \
			(ret) = (memcg)->field;     \
		else                                \
			READ(ret, &(memcg)->field); \
	} while (0)

static __always_inline __u32 record_refs(const struct css_view *v, struct census_rec *rec,
					 enum how how)
{
	long count = 0;

	if (how == BY_LOADS) {
		count = v->ptr->refcnt.data->count.counter;
	} else if (EXISTS(cgroup_subsys_state, refcnt.data)) {
		struct percpu_ref_data *data = (void *)CSS_WORD(refcnt.data);
		if (!data || READ(count, &data->count.counter))
			return 0;
	} else {
		struct cgroup_subsys_state___old *old = (void *)v->ptr;
		if (!bpf_core_field_exists(old->refcnt.count) ||
		    READ(count, &old->refcnt.count.counter))
			return 0;
	}
	rec->refs = count;
	return CENSUS_HAVE_REFS;
}

/* Only where the host has swap at all. */
static __always_inline __u32 record_swap(struct mem_cgroup *memcg, struct census_rec *rec,
					 enum how how)
{
	long usage = 0, pages = 0;
	__u32 have = 0;

	MEMCG_READ(usage, memcg, memory.usage.counter, how);
	if (host.v1 && bpf_core_field_exists(memcg->memsw)) {
		MEMCG_READ(pages, memcg, memsw.usage.counter, how);
		have |= CENSUS_HAVE_SWAP;
	} else if (!host.v1 && bpf_core_field_exists(memcg->swap)) {
		MEMCG_READ(pages, memcg, swap.usage.counter, how);
		have |= CENSUS_HAVE_SWAP;
	}
	rec->usage_pages = usage;
	rec->swap_pages = pages;
	if (bpf_core_field_exists(memcg->id.ref)) {
		int refs = 0;
		MEMCG_READ(refs, memcg, id.ref.refs.counter, how);
		rec->swap_refs = refs;
		have |= CENSUS_HAVE_SWAP_REFS;
	}
	return have;
}

static __always_inline __u32 record_kmem(struct mem_cgroup *memcg, struct census_rec *rec,
					 enum how how)
{
	long pages = 0;

	if (!host.v1 || !bpf_core_field_exists(memcg->kmem)) /* v2 does not charge it */
		return 0;
	MEMCG_READ(pages, memcg, kmem.usage.counter, how);
	rec->kmem_pages = pages;
	return CENSUS_HAVE_KMEM;
}

static __always_inline void record_fill(__u64 css, const struct css_view *v, bool dying,
					struct census_rec *rec, enum how how)
{
	__u64 address = css - OFFSET(mem_cgroup, css);
	__u32 have = 0;

	rec->css = css;
	rec->serial = v->serial;
	rec->dying = dying;
	rec->depth = st.depth;
	/* What pointers lead to is far away in memory: all of it is asked for before the name,
	 * whose copy is a call, so that the waits overlap. */
	__u64 name = record_id(v, rec, how);
	if (dying) {
		struct mem_cgroup *memcg =
			how == BY_LOADS ? DIRECT_CAST(address, DIRECT_MEMCG) : (void *)address;
		have |= record_kmem(memcg, rec, how);
		if (host.detail & st.detail & CENSUS_DETAIL_REFS)
			have |= record_refs(v, rec, how);
		have |= record_lru(address, rec, how);
		if (host.detail & st.detail & CENSUS_DETAIL_SWAP)
			have |= record_swap(memcg, rec, how);
	}
	rec->have = have;
	record_name(name, rec, how);
}

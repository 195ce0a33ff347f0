// SPDX-License-Identifier: GPL-2.0-or-later
/* What pins zombies: the pages on the LRU lists of a batch of memory cgroups, as runs of
 * neighbouring pages of one inode. In slices like the walk (census_walk.bpf.c), and as unlocked: a
 * page whose neighbour or owner is not the expected one ends its list, which counts as broken. */
#include "census_inode.h"

char LICENSE[] SEC("license") = "GPL";

struct pins_state st;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CENSUS_OUT);
	__type(key, __u32);
	__type(value, struct census_pin);
} pins SEC(".maps");

/* the batch */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CENSUS_OUT);
	__type(key, __u32);
	__type(value, struct census_target);
} targets SEC(".maps");

static __always_inline __u32 gen_lists(void)
{
	struct lruvec___old *old = 0;

	if (bpf_core_field_exists(((struct lruvec *)0)->lrugen.folios))
		return bpf_core_field_size(((struct lruvec *)0)->lrugen.folios) /
		       sizeof(struct list_head);
	if (bpf_core_field_exists(old->lrugen.lists))
		return bpf_core_field_size(old->lrugen.lists) / sizeof(struct list_head);
	return 0;
}

static __always_inline __u32 gen_offset(void)
{
	struct lruvec___old *old = 0;

	if (bpf_core_field_exists(((struct lruvec *)0)->lrugen.folios))
		return bpf_core_field_offset(((struct lruvec *)0)->lrugen.folios);
	if (bpf_core_field_exists(old->lrugen.lists))
		return bpf_core_field_offset(old->lrugen.lists);
	return 0;
}

/* The head of list `list` of the memcg: per node the four classic lists, then the generations. 0 =
 * no such list. */
static __always_inline __u64 pin_head(struct mem_cgroup *memcg, __u32 list, __u32 per_node)
{
	struct mem_cgroup_per_node *pn = 0;
	__u32 node = list / per_node, k = list % per_node;

	bpf_probe_read_kernel(&pn, sizeof(pn),
			      (void *)memcg + bpf_core_field_offset(memcg->nodeinfo) +
				      node * sizeof(void *));
	if (!pn)
		return 0;
	__u64 base = (__u64)pn + bpf_core_field_offset(pn->lruvec);
	if (k < 4)
		return base + bpf_core_field_offset(((struct lruvec *)0)->lists) +
		       k * sizeof(struct list_head);
	return base + gen_offset() + (k - 4) * sizeof(struct list_head);
}

/* Anonymous and shared memory are on lists 0 and 1; in the generations the type alternates by the
 * number of zones. */
static __always_inline bool pin_list_is_anon(__u32 k, __u32 gens)
{
	if (k < 4)
		return k < 2;
	__u32 zones = gens / 8; /* 4 generations, 2 types */
	return zones && (k - 4) / zones % 2 == 0;
}

/* The mapping of a node in the tree of an anonymous page's mappings; 0 = it is none any more. Its
 * mappings are those of the process that made the page and of its descendants: `own` takes that
 * process's only. */
static __always_inline struct mm_struct *anon_mm(__u64 anon, __u64 node, bool own)
{
	struct anon_vma_chain *chain = (void *)(node - OFFSET(anon_vma_chain, rb));
	struct vm_area_struct *vma = 0;
	struct mm_struct *mm = 0;
	__u64 its = 0;

	READ(its, &chain->anon_vma);
	if (!node || its != anon)
		return 0;
	READ(vma, &chain->vma);
	READ(its, &vma->anon_vma);
	READ(mm, &vma->vm_mm);
	return own && its != anon ? 0 : mm;
}

/* A process that has an anonymous page. Nothing is locked: each step is checked by what leads back.
 */
static __always_inline void anon_describe(__u64 address, struct census_pin *ret)
{
	struct anon_vma *anon = (void *)address;
	struct task_struct *task = 0, *parent = 0;
	struct mm_struct *mm = 0, *its = 0;
	__u64 top = 0, first = 0;

	if (!EXISTS(anon_vma, rb_root.rb_leftmost) || !EXISTS(mm_struct, owner) ||
	    !EXISTS(anon_vma_chain, rb))
		return;
	READ(top, &anon->rb_root.rb_root.rb_node);
	READ(first, &anon->rb_root.rb_leftmost);
	mm = anon_mm(address, top, true);
	if (!mm)
		mm = anon_mm(address, first, true);
	if (!mm)
		mm = anon_mm(address, top, false);
	if (!mm)
		return;
	READ(task, &mm->owner);
	READ(its, &task->mm);
	if (!task || its != mm)
		return;
	READ(ret->pid, &task->tgid);
	READ(parent, &task->real_parent);
	READ(ret->ppid, &parent->tgid);
	bpf_core_read(ret->comm, sizeof(ret->comm), &task->comm);
}

/* A function of its own and not static, so that the verifier looks at it once. */
__noinline int pin_flush(void)
{
	__u32 n = st.ctl.out_n;

	if (!st.run_pages)
		return 0;
	if (n >= CENSUS_OUT)
		return 1;
	struct census_pin *pin = bpf_map_lookup_elem(&pins, &n);
	if (!pin)
		return 1;
	pin->inode = 0;
	pin->pages = st.run_pages;
	pin->index = st.run_first;
	pin->zombie = st.at;
	pin->kind = st.run_kind;
	pin->ino = 0;
	pin->dev = pin->nlink = pin->magic = pin->generation = 0;
	pin->pid = pin->ppid = 0;
	if (st.run_inode && st.run_kind == CENSUS_PIN_ANON)
		anon_describe(st.run_inode, pin);
	else if (st.run_inode)
		inode_describe(st.run_inode, pin);
	st.ctl.out_n = n + 1;
	st.run_pages = 0;
	st.run_inode = 0;
	return 0;
}

static __always_inline __u32 pin_folio_pages(__u64 folio)
{
	__u32 n = 0;
	__u32 size = bpf_core_type_size(struct page);

	if (bpf_core_field_exists(((struct folio *)0)->_nr_pages)) {
		struct folio *f = (void *)folio;
		READ(n, &f->_nr_pages);
	} else if (bpf_core_field_exists(((struct folio___v6 *)0)->_folio_nr_pages)) {
		struct folio___v6 *f = (void *)folio;
		READ(n, &f->_folio_nr_pages);
	} else if (bpf_core_field_exists(((struct page *)0)->compound_nr)) {
		struct page *p = (void *)(folio + size);
		READ(n, &p->compound_nr);
	} else if (bpf_core_field_exists(((struct page *)0)->compound_order)) {
		struct page *p = (void *)(folio + size);
		unsigned char order = 0;
		READ(order, &p->compound_order);
		n = 1u << (order & 31);
	}
	return n ? n : 1;
}

/* struct folio came with 5.16 and takes over what struct page had. */
#define PAGE_OFFSET(field)                                           \
	(bpf_core_field_exists(((struct folio *)0)->field)           \
		 ? bpf_core_field_offset(((struct folio *)0)->field) \
		 : bpf_core_field_offset(((struct page *)0)->field))

/* The word of the page copy in st.page at a byte offset that is only known after relocation. */
static __always_inline __u64 page_word(__u32 offset)
{
	return offset <= sizeof(st.page) - 8 ? st.page[(offset / 8) & 7] : 0;
}

static __always_inline bool pin_is_of(__u64 memcg)
{
	__u64 owner;

	if (bpf_core_field_exists(((struct folio *)0)->memcg_data))
		owner = page_word(bpf_core_field_offset(((struct folio *)0)->memcg_data)) & ~7ull;
	else if (bpf_core_field_exists(((struct page___v510 *)0)->mem_cgroup))
		owner = page_word(bpf_core_field_offset(((struct page___v510 *)0)->mem_cgroup));
	else
		return true;
	return owner == memcg;
}

static __always_inline int pin_next_list(void)
{
	if (pin_flush())
		return 1;
	st.list++;
	st.pos = 0;
	return 0;
}

static __always_inline int pin_open_list(__u64 memcg, __u32 per_node, __u32 gens)
{
	if (st.anon_only && !pin_list_is_anon(st.list % per_node, gens))
		return pin_next_list();
	st.head = pin_head((void *)memcg, st.list, per_node);
	if (!st.head)
		return pin_next_list();
	st.prev = st.head;
	st.pos = 0;
	bpf_probe_read_kernel(&st.pos, sizeof(st.pos), (void *)st.head);
	return st.pos ? 0 : pin_next_list();
}

/* 1 = the slice ends here. */
static __always_inline int pin_step(void)
{
	__u32 at = st.at, gens = gen_lists(), per_node = 4 + gens, kind;
	__u32 lru = PAGE_OFFSET(lru);
	struct census_target *target = bpf_map_lookup_elem(&targets, &at);
	__u64 inode = 0;

	st.ctl.steps++;
	if (!target || at >= st.ctl.targets) {
		st.ctl.done = 1;
		return 1;
	}
	if (st.list >= per_node * st.nodes) {
		st.at++;
		st.list = 0;
		st.pos = 0;
		return 0;
	}
	if (!st.list && !st.pos) {
		/* still the css that the census saw? */
		struct cgroup_subsys_state *css = (void *)target->ptr;
		__u64 serial = 0;
		READ(serial, &css->serial_nr);
		if (serial != target->check) {
			st.at++;
			return 0;
		}
	}
	__u64 memcg = target->ptr - bpf_core_field_offset(((struct mem_cgroup *)0)->css);
	if (!st.pos)
		return pin_open_list(memcg, per_node, gens);
	if (st.pos == st.head)
		return pin_next_list();
	__u64 folio = st.pos - lru;
	if (bpf_probe_read_kernel(st.page, sizeof(st.page), (void *)folio) ||
	    page_word(lru + 8) != st.prev || !pin_is_of(memcg)) {
		/* moved while we looked, or a list that only counts (unevictable) */
		st.broken++;
		return pin_next_list();
	}
	__u64 flags = st.page[0];
	__u64 mapping = page_word(PAGE_OFFSET(mapping));
	if (mapping & 1) {
		kind = CENSUS_PIN_ANON;
		/* whose it is; a page that is merged from several (3) is nobody's */
		if (!st.anon_only && (mapping & 3) == 1)
			inode = mapping & ~3ull;
	} else if (!mapping) {
		kind = CENSUS_PIN_OTHER;
	} else {
		struct address_space *m = (void *)(mapping & ~3ull);
		READ(inode, &m->host);
		kind = flags >> bpf_core_enum_value(enum pageflags, PG_swapbacked) & 1
			       ? CENSUS_PIN_SHMEM
			       : CENSUS_PIN_FILE;
	}
	__u64 index = page_word(PAGE_OFFSET(index));
	__u64 n = flags >> bpf_core_enum_value(enum pageflags, PG_head) & 1 ? pin_folio_pages(folio)
									    : 1;
	bool same = st.run_pages && inode == st.run_inode && kind == st.run_kind;
	if (same && (!inode || kind == CENSUS_PIN_ANON || index == st.run_end)) {
		st.run_end = index + n;
	} else if (same && index + n == st.run_first) {
		st.run_first = index;
	} else {
		if (pin_flush())
			return 1;
		st.run_first = index;
		st.run_end = index + n;
	}
	st.run_inode = inode;
	st.run_kind = kind;
	st.run_pages += n;
	st.prev = st.pos;
	st.pos = page_word(lru);
	return 0;
}

CENSUS_PROGRAMS(census_pins, pin_step)

// SPDX-License-Identifier: GPL-2.0-or-later
/* Every memory cgroup that the kernel still holds, dying ones with all their numbers; what pins
 * them; the paths of what pins them.
 *
 * A walk is a sequence of slices. Each call does at most `budget` steps and leaves its place in
 * `st`, so that no core is held for long. Nothing is locked: the list may change between and during
 * slices. So each step first checks that the css it came to is the one it expects (parent, growing
 * serial number, not released) and afterwards that it still is; otherwise the record is dropped and
 * the level is entered again from its parent, which skips what was seen, because siblings are in
 * the order of their serial numbers. */
#include "kernel_slices.h"

#include "census_abi.h"

char LICENSE[] SEC("license") = "GPL";

struct census_state st;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CENSUS_OUT);
	__type(key, __u32);
	__type(value, struct census_rec);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CENSUS_OUT);
	__type(key, __u32);
	__type(value, struct census_pin);
} pins SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CENSUS_OUT);
	__type(key, __u32);
	__type(value, struct census_part);
} names SEC(".maps");

/* the batch that pins and paths work on */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CENSUS_OUT);
	__type(key, __u32);
	__type(value, struct census_target);
} targets SEC(".maps");

/* Verifiers before 6.x refuse loops of the shape that clang gives these: CENSUS_CHUNK steps,
 * written out. */
#define EIGHT_TIMES(step) \
	(void)((step) || (step) || (step) || (step) || (step) || (step) || (step) || (step))

#define BDEV_MAGIC 0x62646576

#define READ(ret, ptr) bpf_core_read(&(ret), sizeof(ret), (ptr))

/* ---- the walk ---- */

/* The barrier keeps clang from dropping the mask that the verifier needs to see. */
static __always_inline struct census_level *level_at(__u32 depth)
{
	asm volatile("" : "+r"(depth));
	return &st.level[depth & (CENSUS_DEPTH - 1)];
}

static __always_inline void walk_start(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	int memory = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *css = 0, *up;
	__u64 serial = 0;

	bpf_probe_read_kernel(&css, sizeof(css),
			      (void *)set + bpf_core_field_offset(set->subsys) +
				      memory * sizeof(void *));
	for (int i = 0; i < CENSUS_DEPTH; i++) {
		up = 0;
		READ(up, &css->parent);
		if (!up)
			break;
		css = up;
	}
	READ(serial, &css->serial_nr);
	st.level[0].css = (__u64)css;
	st.level[0].serial = serial;
	st.depth = 1;
	st.last = 0;
	st.pos = 0;
	st.live = css ? 1 : 0; /* the root itself */
	if (bpf_core_field_exists(((struct mem_cgroup_per_node *)0)->lru_zone_size))
		st.zone_words =
			bpf_core_field_size(((struct mem_cgroup_per_node *)0)->lru_zone_size) / 8;
	if (bpf_core_field_exists(((struct lruvec *)0)->lrugen.nr_pages))
		st.gen_words = bpf_core_field_size(((struct lruvec *)0)->lrugen.nr_pages) / 8;
}

/* One copy instead of one call per field: each call costs as much as half a cache line. The words
 * of a copy are found by offsets that are only known after relocation. */
static __always_inline __u64 css_word(__u32 offset)
{
	return offset <= sizeof(st.css) - 8 ? st.css[(offset / 8) & (CENSUS_CSS_WORDS - 1)] : 0;
}

static __always_inline __u64 kn_word(__u32 offset)
{
	return offset <= sizeof(st.kn) - 8 ? st.kn[(offset / 8) & (CENSUS_KN_WORDS - 1)] : 0;
}

#define CSS_WORD(field) css_word(bpf_core_field_offset(((struct cgroup_subsys_state *)0)->field))

static __always_inline __u32 css_flags(void)
{
	__u32 offset = bpf_core_field_offset(((struct cgroup_subsys_state *)0)->flags);
	return css_word(offset) >> (offset & 4) * 8;
}

static __always_inline int css_copy(struct cgroup_subsys_state *css)
{
	/* the last field that is asked for; what lies behind it is another cache line */
	__u32 size = bpf_core_field_offset(((struct cgroup_subsys_state *)0)->parent) + 8;
	__u32 serial = bpf_core_field_offset(((struct cgroup_subsys_state *)0)->serial_nr) + 8;

	if (serial > size)
		size = serial;
	return bpf_probe_read_kernel(st.css, size < sizeof(st.css) ? size : sizeof(st.css), css);
}

/* Pages on the LRU lists of one node: exact, without the lag of memory.stat, and not moved to the
 * parent. As they lie there: zone by zone, in each the lists. The user side adds them up. The
 * multi-gen lists (6.1) count on their own: generation, then anonymous or file, then zone. */
static __always_inline bool read_node(struct mem_cgroup *memcg, __u32 node, __u64 *zones,
				      __u64 *gens)
{
	__u32 size = bpf_core_field_size(((struct mem_cgroup_per_node *)0)->lru_zone_size);
	__u32 gens_size = bpf_core_field_size(((struct lruvec *)0)->lrugen.nr_pages);
	struct mem_cgroup_per_node *pn = 0;

	bpf_probe_read_kernel(&pn, sizeof(pn),
			      (void *)memcg + bpf_core_field_offset(memcg->nodeinfo) +
				      node * sizeof(void *));
	if (size > CENSUS_ZONE_WORDS * 8)
		size = CENSUS_ZONE_WORDS * 8;
	if (!pn || bpf_core_read(zones, size, &pn->lru_zone_size))
		return false;
	if (!bpf_core_field_exists(((struct lruvec *)0)->lrugen.nr_pages))
		return true;
	if (gens_size > CENSUS_ZONE_WORDS * 8)
		gens_size = CENSUS_ZONE_WORDS * 8;
	return bpf_core_read(gens, gens_size, &pn->lruvec.lrugen.nr_pages) == 0;
}

/* The further nodes are added to the first. */
static __always_inline void add_node(struct mem_cgroup *memcg, struct census_rec *rec, __u32 node)
{
	if (!read_node(memcg, node, st.zones, st.gens))
		return;
	for (__u32 i = 0; i < CENSUS_ZONE_WORDS; i++) {
		rec->zones[i] += st.zones[i];
		rec->gens[i] += st.gens[i];
	}
}

struct add_nodes {
	struct mem_cgroup *memcg;
	__u32 record;
};

static long add_node_callback(__u32 i, struct add_nodes *a)
{
	__u32 n = a->record;
	struct census_rec *rec = bpf_map_lookup_elem(&records, &n);

	if (rec)
		add_node(a->memcg, rec, i + 1);
	return 0;
}

static __always_inline void read_lru(struct mem_cgroup *memcg, struct census_rec *rec, bool loop)
{
	if (!bpf_core_field_exists(((struct mem_cgroup_per_node *)0)->lru_zone_size) ||
	    !read_node(memcg, 0, rec->zones, rec->gens))
		return;
	rec->have |= CENSUS_HAVE_LRU;
	rec->more = 0;
	if (st.nodes <= 1)
		return;
	if (loop) {
		struct add_nodes a = { memcg, st.out_n };
		bpf_loop(st.nodes - 1, add_node_callback, &a, 0);
		return;
	}
	/* no room for loops here: the user side adds these too */
	if (read_node(memcg, 1, rec->more_zones[0], st.gens))
		rec->more = 1;
	if (st.nodes > 2 && read_node(memcg, 2, rec->more_zones[1], st.gens))
		rec->more = 2;
	if (st.nodes > 3 && read_node(memcg, 3, rec->more_zones[2], st.gens))
		rec->more = 3;
}

static __always_inline void read_refs(struct cgroup_subsys_state *css, struct census_rec *rec)
{
	long count = 0;

	if (bpf_core_field_exists(css->refcnt.data)) {
		struct percpu_ref_data *data = (void *)CSS_WORD(refcnt.data);
		if (!data || READ(count, &data->count.counter))
			return;
	} else {
		struct cgroup_subsys_state___old *old = (void *)css;
		if (!bpf_core_field_exists(old->refcnt.count) ||
		    READ(count, &old->refcnt.count.counter))
			return;
	}
	rec->refs = count;
	rec->have |= CENSUS_HAVE_REFS;
}

/* Only where the host has swap at all. */
static __always_inline void read_swap(struct mem_cgroup *memcg, struct census_rec *rec)
{
	long pages = 0;

	READ(pages, &memcg->memory.usage.counter);
	rec->usage_pages = pages;
	pages = 0;
	if (st.v1 && bpf_core_field_exists(memcg->memsw))
		READ(pages, &memcg->memsw.usage.counter);
	else if (!st.v1 && bpf_core_field_exists(memcg->swap))
		READ(pages, &memcg->swap.usage.counter);
	rec->swap_pages = pages;
	if (st.v1 ? bpf_core_field_exists(memcg->memsw) : bpf_core_field_exists(memcg->swap))
		rec->have |= CENSUS_HAVE_SWAP;
	if (bpf_core_field_exists(memcg->id.ref)) {
		int refs = 0;
		READ(refs, &memcg->id.ref.refs.counter);
		rec->swap_refs = refs;
		rec->have |= CENSUS_HAVE_SWAP_REFS;
	}
}

static __always_inline void read_kmem(struct mem_cgroup *memcg, struct census_rec *rec)
{
	long pages = 0;

	if (!st.v1 || !bpf_core_field_exists(memcg->kmem)) /* v2 does not charge it */
		return;
	READ(pages, &memcg->kmem.usage.counter);
	rec->kmem_pages = pages;
	rec->have |= CENSUS_HAVE_KMEM;
}

static __always_inline void read_name(struct census_rec *rec)
{
	struct cgroup *cgroup = (void *)CSS_WORD(cgroup);
	__u32 size = bpf_core_type_size(struct kernfs_node);
	struct kernfs_node *kn = 0;

	READ(kn, &cgroup->kn);
	bpf_probe_read_kernel(st.kn, size < sizeof(st.kn) ? size : sizeof(st.kn), kn);
	if (bpf_core_type_exists(union kernfs_node_id)) {
		struct kernfs_node___old *old = 0;
		rec->id = kn_word(bpf_core_field_offset(old->id.id)) & 0xffffffff;
	} else {
		rec->id = kn_word(bpf_core_field_offset(kn->id));
	}
	rec->name[0] = 0;
	bpf_probe_read_kernel_str(rec->name, sizeof(rec->name),
				  (void *)kn_word(bpf_core_field_offset(kn->name)));
}

static __always_inline void walk_fill(struct cgroup_subsys_state *css, __u64 serial, __u32 flags,
				      struct census_rec *rec, bool loop)
{
	struct mem_cgroup *memcg =
		(void *)css - bpf_core_field_offset(((struct mem_cgroup *)0)->css);

	rec->css = (__u64)css;
	rec->serial = serial;
	rec->flags = flags;
	rec->dying = !!(flags & CSS_DYING_BIT);
	rec->depth = st.depth;
	rec->have = 0;
	read_name(rec);
	if (!rec->dying)
		return;
	read_lru(memcg, rec, loop);
	read_kmem(memcg, rec);
	if (st.detail & CENSUS_DETAIL_REFS)
		read_refs(css, rec);
	if (st.detail & CENSUS_DETAIL_SWAP)
		read_swap(memcg, rec);
}

/* Up one level: go on behind the node that we came down through, if it is still that node. */
static __always_inline int walk_ascend(void)
{
	__u32 depth = st.depth - 1;
	struct cgroup_subsys_state *css, *parent = 0;
	__u64 serial = 0, next = 0;
	__u32 flags = 0;

	if (!depth || depth >= CENSUS_DEPTH) {
		st.done = 1;
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

/* Enter a level from its parent, if that is still there. */
static __always_inline int walk_enter(struct census_level *level)
{
	struct cgroup_subsys_state *parent = (void *)level->css;
	__u64 serial = 0, first = 0;

	READ(first, &parent->children.next);
	READ(serial, &parent->serial_nr);
	if (serial != level->serial)
		return walk_ascend();
	st.pos = first;
	return 0;
}

/* 1 = the slice ends here. */
static __always_inline int walk_step(bool loop)
{
	struct census_level *level = level_at(st.depth - 1);
	struct cgroup_subsys_state *parent = (void *)level->css;
	struct cgroup_subsys_state *css;
	__u64 pos = st.pos, serial, again = 0, next, child;
	__u32 flags, fresh = st.fresh, n = st.out_n;

	st.steps++;
	st.fresh = 0;
	if (!pos)
		return walk_enter(level);
	if (pos == (__u64)&parent->children)
		return walk_ascend();
	css = (void *)pos - bpf_core_field_offset(((struct cgroup_subsys_state *)0)->sibling);
	bool failed = css_copy(css);
	serial = CSS_WORD(serial_nr);
	flags = css_flags();
	next = CSS_WORD(sibling.next);
	child = CSS_WORD(children.next);
	if (failed || CSS_WORD(parent) != (__u64)parent || !next ||
	    (fresh && flags & CSS_RELEASED_BIT)) {
		st.restarts++;
		st.pos = 0;
		return 0;
	}
	if (serial <= st.last || flags & CSS_RELEASED_BIT) {
		st.pos = next;
		return 0;
	}
	bool inner = child != (__u64)&css->children;
	if (inner || flags & CSS_DYING_BIT) {
		if (n >= CENSUS_OUT)
			return 1;
		struct census_rec *rec = bpf_map_lookup_elem(&records, &n);
		if (!rec)
			return 1;
		walk_fill(css, serial, flags, rec, loop);
	}
	READ(again, &css->serial_nr);
	if (again != serial) {
		st.discarded++;
		st.pos = 0;
		return 0;
	}
	if (inner || flags & CSS_DYING_BIT)
		st.out_n = n + 1;
	if (flags & CSS_DYING_BIT)
		st.dying++;
	else
		st.live++;
	if (serial > st.max_serial)
		st.max_serial = serial;
	st.last = serial;
	st.pos = next;
	if (!inner)
		return 0;
	if (st.depth >= CENSUS_DEPTH - 1) {
		st.too_deep++;
		return 0;
	}
	level = level_at(st.depth);
	level->css = (__u64)css;
	level->serial = serial;
	st.depth++;
	st.last = 0;
	st.pos = child;
	return 0;
}

static __always_inline void slice_start(void)
{
	st.ran++;
	st.out_n = 0;
	st.fresh = 1;
	if (!st.depth)
		walk_start();
}

static long walk_callback(__u32 i, void *ctx)
{
	return walk_step(true);
}

SEC("syscall")
int census_walk(void *ctx)
{
	slice_start();
	bpf_loop(st.budget, walk_callback, 0, 0);
	return 0;
}

/* Without bpf_loop (before 5.17): fewer steps per call, unrolled by the verifier. */
static __always_inline int walk_chunk(void)
{
	slice_start();
	EIGHT_TIMES(walk_step(false));
	return 0;
}

SEC("raw_tp/sys_enter")
int census_walk_chunk(void *ctx)
{
	if (st.own_pid != (__u32)(bpf_get_current_pid_tgid() >> 32) || st.job != 1)
		return 0;
	st.job = 0;
	return walk_chunk();
}

/* ---- what pins a zombie ---- */

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

static __always_inline int pin_flush(void)
{
	__u32 n = st.out_n;
	struct inode *inode = (void *)st.run_inode;
	struct super_block *sb = 0;

	if (!st.run_pages)
		return 0;
	if (n >= CENSUS_OUT)
		return 1;
	struct census_pin *pin = bpf_map_lookup_elem(&pins, &n);
	if (!pin)
		return 1;
	pin->inode = st.run_inode;
	pin->pages = st.run_pages;
	pin->index = st.run_first;
	pin->zombie = st.at;
	pin->kind = st.run_kind;
	pin->ino = 0;
	pin->dev = pin->nlink = pin->magic = pin->generation = 0;
	if (inode) {
		unsigned long magic = 0;
		if (bpf_core_field_size(inode->i_ino) == 8)
			bpf_core_read(&pin->ino, 8, &inode->i_ino);
		READ(pin->nlink, &inode->i_nlink);
		READ(pin->generation, &inode->i_generation);
		READ(sb, &inode->i_sb);
		READ(pin->dev, &sb->s_dev);
		READ(magic, &sb->s_magic);
		pin->magic = magic;
		if (pin->magic == BDEV_MAGIC) /* the device itself, not the pseudo file system */
			READ(pin->dev, &inode->i_rdev);
	}
	st.out_n = n + 1;
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
	if (st.pin_anon_only && !pin_list_is_anon(st.list % per_node, gens))
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

	st.steps++;
	if (!target || at >= st.targets) {
		st.done = 1;
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
	if (same && (!inode || index == st.run_end)) {
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

static long pin_callback(__u32 i, void *ctx)
{
	return pin_step();
}

SEC("syscall")
int census_pins(void *ctx)
{
	st.ran++;
	st.out_n = 0;
	bpf_loop(st.budget, pin_callback, 0, 0);
	return 0;
}

SEC("raw_tp/sys_enter")
int census_pins_chunk(void *ctx)
{
	if (st.own_pid != (__u32)(bpf_get_current_pid_tgid() >> 32) || st.job != 2)
		return 0;
	st.job = 0;
	st.ran++;
	st.out_n = 0;
	EIGHT_TIMES(pin_step());
	return 0;
}

/* ---- where a pinning file lies ---- */

static __always_inline __u64 path_first_dentry(struct inode *inode)
{
	__u64 first = 0;

	READ(first, &inode->i_dentry.first);
	if (!first)
		return 0;
	if (bpf_core_field_exists(((struct dentry *)0)->d_u.d_alias))
		return first - bpf_core_field_offset(((struct dentry *)0)->d_u.d_alias);
	if (bpf_core_field_exists(((struct dentry___flat *)0)->d_alias))
		return first - bpf_core_field_offset(((struct dentry___flat *)0)->d_alias);
	return 0;
}

static __always_inline int path_step(void)
{
	__u32 at = st.at, n = st.out_n;
	struct census_target *target = bpf_map_lookup_elem(&targets, &at);
	struct dentry *dentry, *up = 0;
	const unsigned char *name = 0;

	st.steps++;
	if (!target || at >= st.targets) {
		st.done = 1;
		return 1;
	}
	if (!st.dentry) {
		struct inode *inode = (void *)target->ptr;
		__u64 ino = 0;
		if (bpf_core_field_size(inode->i_ino) == 8)
			bpf_core_read(&ino, 8, &inode->i_ino);
		st.name_level = 0;
		if (ino == target->check)
			st.dentry = path_first_dentry(inode);
		if (!st.dentry)
			st.at++;
		return 0;
	}
	dentry = (void *)st.dentry;
	READ(up, &dentry->d_parent);
	if (up == dentry || !up || st.name_level >= CENSUS_PATH_DEPTH) {
		st.at++;
		st.dentry = 0;
		return 0;
	}
	if (n >= CENSUS_OUT)
		return 1;
	struct census_part *out = bpf_map_lookup_elem(&names, &n);
	if (!out)
		return 1;
	READ(name, &dentry->d_name.name);
	out->index = at;
	out->level = st.name_level;
	long len = bpf_probe_read_kernel_str(out->name, sizeof(out->name), name);
	out->len = len > 0 ? len - 1 : 0;
	st.name_level++;
	st.out_n = n + 1;
	st.dentry = (__u64)up;
	return 0;
}

static long path_callback(__u32 i, void *ctx)
{
	return path_step();
}

SEC("syscall")
int census_paths(void *ctx)
{
	st.ran++;
	st.out_n = 0;
	bpf_loop(st.budget, path_callback, 0, 0);
	return 0;
}

SEC("raw_tp/sys_enter")
int census_paths_chunk(void *ctx)
{
	if (st.own_pid != (__u32)(bpf_get_current_pid_tgid() >> 32) || st.job != 3)
		return 0;
	st.job = 0;
	st.ran++;
	st.out_n = 0;
	EIGHT_TIMES(path_step());
	return 0;
}

/* ---- tasks and cgroup namespaces that hold a dying memcg (5.8) ---- */

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
	bpf_core_read(out.comm, sizeof(out.comm), &task->comm);
	bpf_seq_write(ctx->meta->seq, &out, sizeof(out));
	return 0;
}

/* ---- sockets that are charged to a dying memcg, where a process has them open (5.8) ---- */

#define MODE_TYPE   0170000
#define MODE_SOCKET 0140000

SEC("task_files")
int census_sockets(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct census_sock out = {};
	struct inode *inode;
	struct mem_cgroup *memcg;
	struct cgroup_subsys_state *css;
	struct socket *socket;
	struct sock *sk;
	__u32 flags = 0;

	if (!task || !file)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	if ((BPF_CORE_READ(inode, i_mode) & MODE_TYPE) != MODE_SOCKET)
		return 0;
	socket = BPF_CORE_READ(file, private_data);
	sk = BPF_CORE_READ(socket, sk);
	memcg = BPF_CORE_READ(sk, sk_memcg);
	if (!memcg)
		return 0;
	css = (void *)memcg + bpf_core_field_offset(((struct mem_cgroup *)0)->css);
	READ(flags, &css->flags);
	if (!(flags & CSS_DYING_BIT))
		return 0;
	out.css = (__u64)css;
	if (bpf_core_field_size(inode->i_ino) == 8)
		bpf_core_read(&out.inode, 8, &inode->i_ino);
	out.pid = BPF_CORE_READ(task, tgid);
	out.protocol = BPF_CORE_READ(sk, sk_protocol);
	out.family = BPF_CORE_READ(sk, __sk_common.skc_family);
	out.port = BPF_CORE_READ(sk, __sk_common.skc_num);
	bpf_core_read(out.comm, sizeof(out.comm), &task->comm);
	bpf_seq_write(ctx->meta->seq, &out, sizeof(out));
	return 0;
}

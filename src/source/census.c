#include "census.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "census_impl.h"
#include "text.h"

/* About a millisecond of kernel time per slice. */
enum { CENSUS_BUDGET = 2000 };
/* A list that changes faster than it can be walked ends the walk after this many steps per cgroup
 * seen. */
enum { CENSUS_STEPS_PER_CGROUP = 50, CENSUS_STEPS_LEAST = 1000000 };

static void highest(void *arg, unsigned n)
{
	unsigned *most = arg;
	if (n + 1 > *most)
		*most = n + 1;
}

/* NUMA nodes that can exist: the length of the per-node arrays. */
static unsigned census_nodes(const struct root *root)
{
	AUTO_BUF struct buf text = { 0 };
	unsigned most = 0;

	if (root_read(root, "sys/devices/system/node/possible", 4096, &text, NULL) < 0 ||
	    text_cpu_list(buf_str(&text), 1024, highest, &most) < 0 || !most)
		return 1;
	return MIN_OF(most, (unsigned)CENSUS_NODES);
}

/* Nothing can be in swap where there is none; unknown counts as on. */
static bool census_swap_is_on(const struct root *root)
{
	AUTO_BUF struct buf text = { 0 };

	/* a line of headings, then one per device */
	if (root_read(root, "proc/swaps", ROOT_FILE_CAP, &text, NULL) < 0)
		return true;
	const char *line = text_next_line(buf_str(&text));
	return line && *line;
}

int census_open(const struct root *root, const struct offer *offer, unsigned want,
		struct census **ret, struct err *err)
{
	const char *wish = getenv("ZSCOPE_CENSUS");

	if (!root->live)
		return err_set(err, -EOPNOTSUPP, "a captured host has no kernel to ask");
	if (wish && strcmp(wish, "off") == 0)
		return err_set(err, -EPERM, "bpf: switched off by ZSCOPE_CENSUS=off");
	struct census *c = calloc(1, sizeof(*c));
	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->root = root;
	c->want = c->opened_for = want;
	c->v1 = offer->memory != CGROUP_MEMORY_V2;
	c->swap_on = census_swap_is_on(root);
	c->nodes = census_nodes(root);
	c->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	int r = census_prepare(c, err);
	if (r == 0 && !c->programs[CENSUS_JOB_WALK].out) {
		c->copies = calloc(CENSUS_OUT, sizeof(*c->copies));
		r = c->copies ? 0 : err_set(err, -ENOMEM, "out of memory");
	}
	if (r < 0) {
		census_close(c);
		return r;
	}
	*ret = c;
	return 0;
}

void census_set_want(struct census *c, unsigned want)
{
	c->want = want & c->opened_for;
}

void census_close(struct census *c)
{
	if (!c)
		return;
	census_unload(c);
	free(c->copies);
	vec_free(&c->pins);
	vec_free(&c->refs);
	vec_free(&c->own);
	mounts_free(&c->mounts);
	shared_holders_free(&c->shared);
	free(c);
}

static void walk_reset(struct census *c)
{
	struct walk_state *st = census_walk_state(c);

	*st = (struct walk_state){
		.ctl = { .budget = CENSUS_BUDGET, .ran = st->ctl.ran },
		.detail =
			(c->want ? CENSUS_DETAIL_REFS : 0) | (c->swap_on ? CENSUS_DETAIL_SWAP : 0),
	};
	c->slices = c->kernel_ns = c->longest_slice_ns = 0;
	memset(c->path.len, 0, sizeof(c->path.len));
	c->above_depth = 0;
	c->broken_lists = 0;
}

/* The path of the record becomes that in c->path; returns its length. */
static size_t path_to(struct census *c, const struct census_rec *rec)
{
	unsigned depth = MAX_OF(MIN_OF(rec->depth, (unsigned)CENSUS_DEPTH), 1u);
	struct census_path *p = &c->path;
	size_t len = strnlen(rec->name, sizeof(rec->name) - 1);
	char *at = p->text + p->len[depth - 1];

	*at = '/';
	memcpy(at + 1, rec->name, len);
	at[len + 1] = '\0';
	p->len[depth] = p->len[depth - 1] + len + 1;
	if (depth < c->above_depth)
		c->above_depth = 0;
	return p->len[depth];
}

static void fill_bytes(const struct census *c, const struct census_rec *rec, struct zombie *z)
{
	uint64_t page = c->page_bytes;

	if (rec->have & CENSUS_HAVE_LRU) {
		const unsigned long long *lru = rec->lru;
		z->anon_bytes = (lru[0] + lru[1]) * page;
		z->file_bytes = (lru[2] + lru[3]) * page;
		z->unevictable_bytes = lru[4] * page;
		z->bytes = z->anon_bytes + z->file_bytes + z->unevictable_bytes;
		z->have |= ZOMBIE_LRU;
		if (!z->anon_bytes)
			z->have |= ZOMBIE_SPLIT;
	}
	if (rec->have & CENSUS_HAVE_KMEM) {
		z->slab_bytes = rec->kmem_pages * page;
		z->have |= ZOMBIE_SLAB;
	}
	if (rec->have & CENSUS_HAVE_SWAP) {
		uint64_t swap = rec->swap_pages;
		if (c->v1) /* v1 counts memory and swap together */
			swap = swap > rec->usage_pages ? swap - rec->usage_pages : 0;
		z->swap_bytes = swap * page;
	}
	if (rec->have & CENSUS_HAVE_SWAP || !c->swap_on)
		z->have |= ZOMBIE_SWAP;
}

/* Neighbours have one parent: what encloses them is looked at once. */
static void fill_owner(struct census *c, const struct census_rec *rec, struct zombie *z)
{
	if (rec->depth != c->above_depth) {
		owner_above(z->path, z->path_len, &c->above);
		c->above_depth = rec->depth;
	}
	owner_parse_below(&c->above, z->path, z->path_len, &z->owner);
}

static void fill_zombie(struct census *c, const struct census_rec *rec, size_t path_len,
			struct zombie *z)
{
	*z = (struct zombie){
		.id = rec->id,
		.serial = rec->serial,
		.kernel_ptr = rec->css,
		.path = c->path.text,
		.path_len = path_len,
	};
	fill_owner(c, rec, z);
	/* below 0 for some milliseconds after the removal, until the counts of all cores are added
	 */
	if (rec->have & CENSUS_HAVE_REFS && rec->refs >= 0) {
		z->refs = rec->refs;
		z->have |= ZOMBIE_REFS;
	}
	fill_bytes(c, rec, z);
}

struct census_ref *census_refs_of(const struct census *c, uint64_t css, size_t *ret_n)
{
	size_t lo = 0, hi = c->refs.len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (c->refs.items[mid].css < css)
			lo = mid + 1;
		else
			hi = mid;
	}
	size_t end = lo;
	while (end < c->refs.len && c->refs.items[end].css == css)
		end++;
	*ret_n = end - lo;
	return c->refs.items ? c->refs.items + lo : NULL;
}

/* Pages that are charged but on no list, because they wait in a batch of some core. Only cgroup v1
 * tells them from kernel memory, which its counters keep after it was handed to the parent. */
static uint64_t unlisted_bytes(const struct census *c, const struct census_rec *rec)
{
	unsigned need = CENSUS_HAVE_USAGE | CENSUS_HAVE_KMEM;

	if ((rec->have & need) != need || rec->usage_pages <= rec->kmem_pages)
		return 0;
	return (rec->usage_pages - rec->kmem_pages) * c->page_bytes;
}

/* What refers to this memcg without owning pages of it. */
static bool add_references(struct census *c, const struct census_rec *rec, const struct zombie *z)
{
	size_t n;
	const struct census_ref *refs = census_refs_of(c, rec->css, &n);

	for (size_t i = 0; i < n; i++)
		if (!vec_push(&c->own, refs[i].pin))
			return false;
	if (z->unevictable_bytes &&
	    !vec_push(&c->own,
		      ((struct zombie_pin){ .kind = PIN_MLOCKED, .bytes = z->unevictable_bytes })))
		return false;
	if (rec->have & CENSUS_HAVE_SWAP_REFS && rec->swap_refs &&
	    !vec_push(&c->own, ((struct zombie_pin){ .kind = PIN_SWAP, .bytes = z->swap_bytes })))
		return false;
	/* each child refers to its parent */
	if (rec->children &&
	    !vec_push(&c->own, ((struct zombie_pin){
				       .kind = PIN_CHILD,
				       .below = rec->have & CENSUS_HAVE_BELOW ? rec->below : 0 })))
		return false;
	if (c->own.len || !(z->have & ZOMBIE_REFS) || z->refs <= 0)
		return true;
	uint64_t unlisted = unlisted_bytes(c, rec);
	return vec_push(&c->own, ((struct zombie_pin){ .kind = unlisted ? PIN_PAGES : PIN_REFERENCE,
						       .bytes = unlisted }));
}

/* The page pins of zombie i of the batch start at *at in the sorted list. */
static int attach_pins(struct census *c, unsigned i, size_t *at, const struct census_rec *rec,
		       struct zombie *z, struct err *err)
{
	uint64_t anon = 0, shmem = 0, seen = 0, lru = z->anon_bytes + z->file_bytes;
	bool ok = true;

	c->own.len = 0;
	for (; ok && *at < c->pins.len && c->pins.items[*at].zombie == i; (*at)++) {
		const struct zombie_pin *pin = &c->pins.items[*at].pin;
		seen += pin->bytes;
		anon += pin->kind == PIN_ANON ? pin->bytes : 0;
		shmem += pin->kind == PIN_TMPFS ? pin->bytes : 0;
		ok = vec_push(&c->own, *pin);
	}
	/* Pages that could not be followed are named, so that the pins add up to the zombie's
	 * bytes. */
	if (ok && c->want & CENSUS_WANT_PINS && lru > seen)
		ok = vec_push(&c->own,
			      ((struct zombie_pin){ .kind = PIN_PAGES, .bytes = lru - seen }));
	if (ok && anon + shmem >= z->anon_bytes && z->have & ZOMBIE_LRU) {
		z->anon_bytes = anon;
		z->shmem_bytes = shmem;
		z->have |= ZOMBIE_SPLIT;
	}
	if (ok && c->want & CENSUS_WANT_PINS) {
		ok = add_references(c, rec, z);
		z->pins = c->own.items;
		z->n_pins = c->own.len;
		z->have |= ZOMBIE_PINS;
	}
	return ok ? 0 : err_set(err, -ENOMEM, "out of memory");
}

struct walk {
	struct census *c;
	const char *below;
	struct zombie_files *files;
	int (*each)(void *arg, const struct zombie *z);
	void *arg;
};

static int give_zombie(const struct walk *w, unsigned i, size_t path_len, size_t *at,
		       struct err *err)
{
	const struct census_rec *rec = &w->c->batch[i];
	struct zombie z;

	fill_zombie(w->c, rec, path_len, &z);
	if (w->c->want) {
		int r = attach_pins(w->c, i, at, rec, &z, err);
		if (r < 0)
			return r;
	}
	return w->each(w->arg, &z);
}

/* The records stay where they are until the next slice. */
static int take_batch(struct census *c, struct err *err)
{
	c->n_batch = MIN_OF(census_walk_state(c)->ctl.out_n, (unsigned)CENSUS_OUT);
	c->batch = c->copies ? c->copies : census_out(c, CENSUS_JOB_WALK, 0, NULL);
	for (unsigned i = 0; c->copies && i < c->n_batch; i++)
		if (!census_out(c, CENSUS_JOB_WALK, i, &c->copies[i]))
			return err_set(err, -EIO, "reading the census: %s", strerror(errno));
	return 0;
}

/* Which of the batch pins are to be found for. */
static void mark_asked(const struct walk *w)
{
	struct census *c = w->c;
	struct census_path before;

	if (w->below)
		before = c->path;
	for (unsigned i = 0; i < c->n_batch; i++) {
		c->asked[i] = c->batch[i].dying;
		if (!w->below)
			continue;
		size_t len = path_to(c, &c->batch[i]);
		c->asked[i] = c->asked[i] && zombie_is_below(c->path.text, len, w->below);
	}
	if (w->below)
		c->path = before;
}

/* All that holds the zombies of the batch; the paths of files that are new with it. */
static int find_pins(struct census *c, struct zombie_files *files, struct err *err)
{
	bool anon_only = !(c->want & CENSUS_WANT_PINS);
	size_t known = files ? files->list.len : 0;

	int r = census_batch_pins(c, files, anon_only, err);
	if (r < 0 || anon_only || !files)
		return r;
	r = census_batch_writeback(c, files, err);
	return r < 0 ? r : census_resolve_files(c, files, known, err);
}

static int give_slice(const struct walk *w, struct err *err)
{
	struct census *c = w->c;
	size_t at = 0;

	int r = take_batch(c, err);
	if (r == 0 && c->want) {
		mark_asked(w);
		r = find_pins(c, w->files, err);
	}
	for (unsigned i = 0; r == 0 && i < c->n_batch; i++) {
		size_t len = path_to(c, &c->batch[i]);
		if (c->batch[i].dying && zombie_is_below(c->path.text, len, w->below))
			r = give_zombie(w, i, len, &at, err);
	}
	return r;
}

static void fill_totals(const struct census *c, struct census_totals *ret)
{
	const struct walk_state *st = census_walk_state(c);
	static const char *const how[] = {
		[CENSUS_DIRECT] = "bpf_loop with plain loads",
		[CENSUS_LOOP] = "bpf_loop",
		[CENSUS_RUN] = "raw tracepoint test run",
		[CENSUS_TRIGGER] = "tracepoint trigger",
	};

	*ret = (struct census_totals){
		.live = st->live,
		.dying = st->dying,
		.slices = c->slices,
		.steps = st->ctl.steps,
		.restarts = st->restarts + st->discarded,
		.kernel_ns = c->kernel_ns,
		.longest_slice_ns = c->longest_slice_ns,
		.too_deep = st->too_deep,
		.max_serial = st->max_serial,
		.complete = st->ctl.done,
	};
	text_copy(ret->how, sizeof(ret->how), how[c->variant]);
}

int census_walk(struct census *c, const char *below, struct zombie_files *files,
		int (*each)(void *arg, const struct zombie *z), void *arg,
		struct unknowns *unknowns, struct census_totals *ret, struct err *err)
{
	struct walk w = { .c = c, .below = below, .files = files, .each = each, .arg = arg };
	const struct walk_state *st = census_walk_state(c);
	struct err holders = { 0 };
	int r;

	walk_reset(c);
	if (c->want & CENSUS_WANT_PINS && census_read_holders(c, unknowns, &holders) < 0)
		unknowns_add(unknowns, "processes and namespaces that hold zombies", "%s",
			     holders.text);
	do {
		r = census_slice(c, CENSUS_JOB_WALK, err);
		if (r == 0)
			r = give_slice(&w, err);
		if (r)
			return r;
	} while (!st->ctl.done &&
		 st->ctl.steps <
			 CENSUS_STEPS_LEAST + (st->live + st->dying) * CENSUS_STEPS_PER_CGROUP);
	fill_totals(c, ret);
	if (!ret->complete)
		unknowns_add(unknowns, "census", "the list changed faster than it could be walked");
	if (ret->too_deep)
		unknowns_add(unknowns, "census", "cgroups deeper than %d levels were not walked",
			     CENSUS_DEPTH);
	if (c->broken_lists)
		unknowns_add(unknowns, "some pins",
			     "%llu page lists changed while they were read: their rest is shown as "
			     "pages",
			     (unsigned long long)c->broken_lists);
	return 0;
}

#include "purge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "purge_impl.h"
#include "text.h"
#include "timefmt.h"
#include "zombies.h"
#include "zombies_below.h"

enum { PURGE_ROUNDS = 10 };

const char *purge_method_name(enum purge_method method)
{
	return method == PURGE_RECLAIM ? "reclaim" : "files";
}

int purge_most_zombies_first(const void *a, const void *b)
{
	const struct purge_holder *x = a, *y = b;

	if (x->zombies != y->zombies)
		return x->zombies > y->zombies ? -1 : 1;
	return x->locked_bytes > y->locked_bytes ? -1 : x->locked_bytes < y->locked_bytes;
}

/* Root may be refused, too: asked once for each device. */
static bool device_opens(struct purge_look *l, const struct zombie_file *f)
{
	bool made;
	uint64_t *at = map_u64_put(&l->devices, (uint64_t)f->major << 32 | f->minor, &made);

	if (!at)
		return false;
	if (made) {
		AUTO_CLOSE int fd = purge_open_device(l->root, f);
		*at = 1 + (fd < 0 ? (uint64_t)-fd : 0);
	}
	return *at == 1;
}

enum pin_kind purge_stuck_by(struct purge_look *l, const struct zombie *z,
			     const struct zombie_files *files, bool *ret_may_stay)
{
	enum pin_kind child = PIN_KIND_END;

	*ret_may_stay = false;
	for (size_t i = 0; i < z->n_pins; i++) {
		const struct zombie_pin *p = &z->pins[i];
		if (p->kind == PIN_PAGES)
			continue;
		/* inodes leave the cache by drop_caches */
		if (p->kind == PIN_WRITEBACK && (!p->until_evicted || l->options->whole_host))
			continue;
		if (p->kind == PIN_CHILD) {
			child = PIN_CHILD;
			continue;
		}
		if (p->kind != PIN_FILE)
			return p->kind;
		const struct zombie_file *f = &files->list.items[p->file];
		*ret_may_stay |= f->place == PLACE_DEVICE;
		if (l->options->method != PURGE_FILES)
			continue;
		if (f->place == PLACE_DEVICE ? !device_opens(l, f)
					     : !f->deleted && (!f->path || *f->path != '/'))
			return PIN_PAGES;
	}
	return child;
}

/* What writeback has to do with a zombie that can be freed. */
static void count_writeback(const struct zombie *z, struct purge_plan *plan)
{
	bool cleaner = false, until_evicted = false;

	for (size_t i = 0; i < z->n_pins; i++)
		if (z->pins[i].kind == PIN_WRITEBACK)
			*(z->pins[i].until_evicted ? &until_evicted : &cleaner) = true;
	plan->writeback += cleaner;
	plan->inodes += until_evicted;
}

static void add_holder(struct purge_result *r, enum pin_kind kind, int pid, const char *comm)
{
	vec_foreach (&r->holders, h) {
		if (h->kind == kind && h->pid == pid) {
			h->zombies++;
			return;
		}
	}
	if (r->holders.len >= PURGE_MOST_HOLDERS)
		return;
	struct purge_holder h = { .kind = kind, .pid = pid, .zombies = 1, .shmid = -1 };
	text_copy(h.comm, sizeof(h.comm), comm);
	vec_push(&r->holders, h);
}

/* The cgroup that purge_settle() removed a moment ago is none of theirs. */
static bool is_own(const struct zombie *z)
{
	char name[40];
	size_t n = (size_t)snprintf(name, sizeof(name), "/%s%d", PURGE_NUDGE, getpid());

	return z->path_len >= n && memcmp(z->path + z->path_len - n, name, n) == 0;
}

static int count_own(void *arg, const struct zombie *z, const struct zombie_files *files)
{
	struct purge_look *l = arg;

	(void)files;
	l->own += is_own(z);
	l->own_bytes += is_own(z) ? z->bytes : 0;
	return 0;
}

static int look_at(void *arg, const struct zombie *z, const struct zombie_files *files)
{
	struct purge_look *l = arg;
	bool may_stay, ok = true;

	if (is_own(z))
		return count_own(arg, z, files);
	enum pin_kind stuck = purge_stuck_by(l, z, files, &may_stay);
	bool stays = stuck != PIN_KIND_END && stuck != PIN_CHILD;
	if (l->remains)
		ok = purge_remains_take(l->remains, z, stuck, files);
	l->plan.zombies++;
	l->plan.bytes += z->bytes;
	if (stuck == PIN_CHILD)
		ok = ok && purge_parents_take(&l->parents, z, may_stay);
	else if (stays || may_stay)
		ok = ok && purge_parents_mark(&l->parents, z, stays);
	if (!ok)
		return -ENOMEM;
	if (!stays)
		count_writeback(z, &l->plan);
	if (stuck == PIN_KIND_END) {
		*(may_stay ? &l->plan.may_stay : &l->plan.freeable) += 1;
		*(may_stay ? &l->plan.may_stay_bytes : &l->plan.freeable_bytes) += z->bytes;
	}
	if (!stays)
		return 0;
	l->plan.stuck[stuck]++;
	if (!l->result)
		return 0;
	for (size_t i = 0; i < z->n_pins; i++) {
		const struct zombie_pin *p = &z->pins[i];
		/* with the parent: it is the one that must act */
		if (p->kind == PIN_PROCESS)
			add_holder(l->result, p->kind, p->parent_pid, p->comm);
		else if (p->pid)
			add_holder(l->result, p->kind, p->pid, p->comm);
	}
	return 0;
}

/* File pages on the host's lists, without those of the zombies. */
static uint64_t live_cache(const struct root *root, uint64_t zombie_file_bytes)
{
	AUTO_BUF struct buf text = { 0 };
	uint64_t active = 0, inactive = 0;

	if (root_read(root, "proc/meminfo", ROOT_FILE_CAP, &text, NULL) < 0)
		return 0;
	text_key_u64(buf_str(&text), "Active(file):", &active);
	text_key_u64(buf_str(&text), "Inactive(file):", &inactive);
	uint64_t all = (active + inactive) * 1024;
	return all > zombie_file_bytes ? all - zombie_file_bytes : 0;
}

int purge_census(const struct root *root, const struct offer *offer, struct purge_look *l,
		 unsigned want, struct zombie_files *files, struct purge_side *ret_side,
		 struct unknowns *unknowns, struct err *err)
{
	AUTO_CENSUS_SUMMARY struct census_summary s = { 0 };
	AUTO_UNKNOWNS struct unknowns counting = { 0 }; /* misses what nobody asked it for */
	struct census_totals totals;
	struct zombies_options o = {
		.want = want,
		.below = l->options->below,
		/* after the first look: what was purged whole is gone */
		.may_be_gone = l->looked,
		.each = want ? look_at : count_own,
		.arg = l,
	};

	l->plan = (struct purge_plan){ 0 };
	l->own = l->own_bytes = 0;
	census_set_want(l->census, want);
	int r = zombies_read_with(l->census, "", root, offer, &o, files, &s, &totals,
				  want ? unknowns : &counting, err);
	purge_parents_judge(&l->parents, &l->plan);
	purge_parents_free(&l->parents);
	if (r < 0)
		return r;
	l->looked = true;
	*ret_side = (struct purge_side){
		.tracked = s.tracked - MIN_OF(s.tracked, l->own),
		.dying = s.dying - MIN_OF(s.dying, l->own),
		.bytes = s.bytes - MIN_OF(s.bytes, l->own_bytes),
		.live_cache_bytes = live_cache(root, s.file_bytes),
		.percpu_bytes = s.percpu_bytes,
		.slab_bytes = s.slab_host_bytes,
	};
	return 0;
}

static bool purge_tries(const struct purge_plan *plan)
{
	return plan->freeable || plan->may_stay;
}

static int drop_rounds(const struct root *root, const struct offer *offer, struct purge_look *l,
		       struct purge_result *r, struct pin_holder *holders,
		       struct unknowns *unknowns, struct err *err)
{
	uint64_t last = r->before.dying;
	purge_sync(root, &r->files, holders);
	int e = purge_drop_ranges(root, &r->files, holders, l->options, &r->dropped_bytes, err);

	for (r->rounds = 1; e == 0; r->rounds++) {
		e = purge_settle(root, offer, l, &r->after, unknowns, err);
		if (e < 0 || !r->after.dying || r->rounds >= PURGE_ROUNDS || r->after.dying >= last)
			return e;
		last = r->after.dying;
		AUTO_ZOMBIE_FILES struct zombie_files files = { 0 };
		struct purge_side side;
		e = purge_census(root, offer, l, CENSUS_WANT_PINS | CENSUS_WANT_RANGES, &files,
				 &side, unknowns, err);
		if (e < 0 || !purge_tries(&l->plan))
			return e;
		AUTO_FREE struct pin_holder *who = calloc(files.list.len + 1, sizeof(*who));
		if (!who)
			return err_set(err, -ENOMEM, "out of memory");
		struct process_unseen unseen; /* was told after the first look */
		e = pin_holders_read(root, &files, who, &unseen, err);
		if (e == 0) {
			purge_sync(root, &files, who);
			e = purge_drop_ranges(root, &files, who, l->options, &r->dropped_bytes,
					      err);
		}
	}
	return e;
}

/* Why those are left that are: a fresh look, which also is what is said to be left. */
static int find_left(const struct root *root, const struct offer *offer, struct purge_look *l,
		     struct purge_result *r, struct unknowns *unknowns, struct err *err)
{
	AUTO_FREE struct pin_holder *who = NULL;

	if (!r->after.dying)
		return 0;
	l->remains = purge_remains_new();
	int e = l->remains ? purge_census(root, offer, l, CENSUS_WANT_PINS, &r->left, &r->after,
					  unknowns, err)
			   : -ENOMEM;
	if (e == 0)
		who = calloc(r->left.list.len + 1, sizeof(*who));
	if (e == -ENOMEM || (e == 0 && !who))
		e = err_set(err, -ENOMEM, "out of memory");
	if (e == 0)
		e = purge_find_mapped(root, &r->left, who, r, unknowns, err);
	if (e == 0)
		e = purge_remains_explain(l->remains, who, r, err);
	purge_remains_free(l->remains);
	l->remains = NULL;
	return e;
}

static int apply(const struct root *root, const struct offer *offer, struct purge_look *l,
		 struct purge_result *r, struct pin_holder *holders, struct unknowns *unknowns,
		 struct err *err)
{
	if (!purge_tries(&r->plan)) /* no CPU for what cannot go */
		return 0;
	if (l->options->method == PURGE_FILES)
		return drop_rounds(root, offer, l, r, holders, unknowns, err);
	r->rounds = 1;
	purge_sync(root, &r->files, holders);
	int e = purge_reclaim(offer, r->writes, l->options, &r->plan, err);
	return e < 0 ? e : purge_settle(root, offer, l, &r->after, unknowns, err);
}

/* Where writeback could not be asked, it may. */
static bool writeback_may_hold(const struct purge_plan *plan, const struct offer *offer,
			       const struct unknowns *unknowns)
{
	if (plan->writeback || offer->memory != CGROUP_MEMORY_V2)
		return plan->writeback;
	vec_foreach (&unknowns->list, u)
		if (strcmp(u->what, CENSUS_WRITEBACK_UNKNOWN) == 0)
			return true;
	return false;
}

static int plan_with(const struct root *root, const struct offer *offer, struct purge_look *l,
		     struct purge_result *ret, struct pin_holder **ret_holders,
		     struct unknowns *unknowns, struct err *err)
{
	struct process_unseen unseen;

	int r = purge_census(root, offer, l, CENSUS_WANT_PINS | CENSUS_WANT_RANGES, &ret->files,
			     &ret->before, unknowns, err);
	if (r < 0)
		return r;
	ret->plan = l->plan;
	ret->after = ret->before;
	vec_foreach (&ret->files.list, f)
		ret->plan.files += f->kind == PIN_FILE && f->bytes;
	l->nudge = writeback_may_hold(&l->plan, offer, unknowns);
	*ret_holders = calloc(ret->files.list.len + 1, sizeof(**ret_holders));
	if (!*ret_holders)
		return err_set(err, -ENOMEM, "out of memory");
	r = pin_holders_read(root, &ret->files, *ret_holders, &unseen, err);
	return r < 0 ? r : purge_name(l, *ret_holders, &unseen, ret, unknowns, err);
}

static int run_with(const struct root *root, const struct offer *offer, struct purge_look *l,
		    struct purge_result *ret, struct unknowns *unknowns, struct err *err)
{
	uint64_t cpu = clock_cpu_ns(), wall = clock_mono_ns();
	AUTO_FREE struct pin_holder *holders = NULL;

	l->result = ret;
	int r = plan_with(root, offer, l, ret, &holders, unknowns, err);
	l->result = NULL;
	if (r == 0 && l->options->apply) {
		r = purge_stopped(err);
		if (r == 0)
			r = apply(root, offer, l, ret, holders, unknowns, err);
		ret->applied = r == 0;
		if (r == 0)
			r = find_left(root, offer, l, ret, unknowns, err);
	} else if (r == 0 && l->options->method == PURGE_FILES) {
		AUTO_FREE struct pin_holder *who = calloc(ret->files.list.len + 1, sizeof(*who));
		r = who ? purge_find_mapped(root, &ret->files, who, ret, unknowns, err)
			: err_set(err, -ENOMEM, "out of memory");
	}
	ret->cpu_ns = clock_cpu_ns() - cpu;
	ret->wall_ns = clock_mono_ns() - wall;
	return r;
}

int purge_run(const struct root *root, const struct offer *offer,
	      const struct purge_options *options, struct purge_result *ret,
	      struct unknowns *unknowns, struct err *err)
{
	struct purge_options o = *options;
	struct purge_look l = { .root = root, .options = &o };
	AUTO_BUF struct buf below = { 0 };
	AUTO_CLOSE int lock = -1;
	struct purge_stop stop;
	struct err load = { 0 };
	unsigned restored;

	*ret = (struct purge_result){ 0 };
	int r = o.below ? zombies_below_path(offer, o.below, &below, err) : 0;
	if (r < 0)
		return r;
	o.below = o.below ? buf_str(&below) : NULL;
	if (o.method == PURGE_RECLAIM)
		r = purge_reclaim_writes(offer, &o, ret->writes, sizeof(ret->writes), err);
	if (r < 0)
		return r;
	r = census_open(root, offer, CENSUS_WANT_PINS | CENSUS_WANT_RANGES, &l.census, &load);
	if (r < 0)
		return err_set(err, r,
			       "purge must know what it may touch, and that needs the census: %s",
			       load.text);
	if (options->apply) {
		purge_stop_begin(&stop);
		r = lock = purge_lock(err);
		if (r >= 0) /* what a killed one left */
			r = purge_journal_undo(&restored, err);
	}
	if (r >= 0)
		r = run_with(root, offer, &l, ret, unknowns, err);
	if (options->apply)
		purge_stop_end(&stop);
	map_u64_free(&l.devices);
	census_close(l.census);
	return r;
}

void purge_result_free(struct purge_result *r)
{
	vec_free(&r->holders);
	vec_free(&r->unreachable);
	vec_free(&r->mapped);
	vec_free(&r->left_why);
	zombie_files_free(&r->files);
	zombie_files_free(&r->left);
}

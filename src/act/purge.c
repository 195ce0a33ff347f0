#include "purge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "purge_impl.h"
#include "shared_holders.h"
#include "text.h"
#include "timefmt.h"
#include "zombies.h"

enum { PURGE_ROUNDS = 10 };

const char *purge_method_name(enum purge_method method)
{
	return method == PURGE_RECLAIM ? "reclaim" : "files";
}

/* The pin that keeps the zombie whatever the method does; PIN_KIND_END = it can be freed. */
static enum pin_kind stuck_by(const struct zombie *z, const struct zombie_files *files,
			      const struct purge_options *options)
{
	for (size_t i = 0; i < z->n_pins; i++) {
		const struct zombie_pin *p = &z->pins[i];
		if (p->kind == PIN_PAGES)
			continue;
		/* inodes leave the cache by drop_caches */
		if (p->kind == PIN_WRITEBACK && (!p->until_evicted || options->whole_host))
			continue;
		if (p->kind != PIN_FILE)
			return p->kind;
		const struct zombie_file *f = &files->list.items[p->file];
		if (options->method == PURGE_FILES && !f->deleted && f->place != PLACE_DEVICE &&
		    (!f->path || *f->path != '/'))
			return PIN_PAGES;
	}
	return PIN_KIND_END;
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

static int look_at(void *arg, const struct zombie *z, const struct zombie_files *files)
{
	struct purge_look *l = arg;
	enum pin_kind stuck = stuck_by(z, files, l->options);

	l->plan.zombies++;
	l->plan.bytes += z->bytes;
	if (stuck == PIN_KIND_END) {
		l->plan.freeable++;
		l->plan.freeable_bytes += z->bytes;
		count_writeback(z, &l->plan);
		return 0;
	}
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
		.may_be_gone = !l->result || l->result->before.tracked,
		.each = want ? look_at : NULL,
		.arg = l,
	};

	l->plan = (struct purge_plan){ 0 };
	census_set_want(l->census, want);
	int r = zombies_read_with(l->census, "", root, offer, &o, files, &s, &totals,
				  want ? unknowns : &counting, err);
	if (r < 0)
		return r;
	*ret_side = (struct purge_side){
		.tracked = s.tracked,
		.dying = s.dying,
		.bytes = s.bytes,
		.live_cache_bytes = live_cache(root, s.file_bytes),
		.percpu_bytes = s.percpu_bytes,
		.slab_bytes = s.slab_host_bytes,
	};
	return 0;
}

/* Why the file's pages cannot be dropped from here; NULL = they can. */
static const char *why_unreachable(const struct zombie_file *f, const struct pin_holder *holder)
{
	/* what is only to be written back is reached through its file system */
	if (f->kind != PIN_FILE || f->place == PLACE_DEVICE || !f->bytes)
		return NULL;
	if (f->deleted)
		return holder->pid ? NULL : "deleted, and no process that is seen here has it open";
	if (!f->path)
		return "its path is not known";
	if (*f->path != '/')
		return "no mount shows it here: another mount namespace, or mounted nowhere";
	return NULL;
}

static int find_unreachable(const struct pin_holder *holders, struct purge_result *r,
			    struct err *err)
{
	for (size_t i = 0; i < r->files.list.len; i++) {
		const char *why = why_unreachable(&r->files.list.items[i], &holders[i]);
		if (why && !vec_push(&r->unreachable, (struct purge_unreachable){ i, why }))
			return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

/* Tmpfs and deleted files are named by who holds them. */
static void name_holders(const struct pin_holder *holders, struct purge_result *r)
{
	for (size_t i = 0; i < r->files.list.len; i++) {
		const struct zombie_file *f = &r->files.list.items[i];
		if (f->deleted && f->kind == PIN_FILE && !holders[i].pid)
			r->plan.deleted_unreachable++;
		if (f->kind != PIN_TMPFS)
			continue;
		/* each file by itself: it can be deleted, or its holder ended */
		struct purge_holder h = {
			.kind = PIN_TMPFS,
			.pid = f->held ? f->holder.pid : holders[i].pid,
			.zombies = f->zombies,
			.file = f->path,
			.owner = f->holder.owner,
			.shmid = f->place == PLACE_INTERNAL && shared_is_sysv(f->path)
					 ? (int64_t)f->inode
					 : -1,
		};
		text_copy(h.comm, sizeof(h.comm), f->held ? f->holder.comm : holders[i].comm);
		if (r->holders.len < PURGE_MOST_HOLDERS)
			vec_push(&r->holders, h);
	}
}

/* Of unreaped processes the parent is the holder, and its name is another than the child's. */
static void name_parents(const struct root *root, struct purge_result *r)
{
	vec_foreach (&r->holders, h) {
		AUTO_BUF struct buf text = { 0 };
		char path[40];
		if (h->kind != PIN_PROCESS)
			continue;
		snprintf(path, sizeof(path), "proc/%d/comm", h->pid);
		h->comm[0] = '\0';
		if (root_read(root, path, 64, &text, NULL) == 0)
			text_copy_n(h->comm, sizeof(h->comm), buf_str(&text),
				    text_line_len(buf_str(&text)));
	}
}

static int most_zombies_first(const void *a, const void *b)
{
	const struct purge_holder *x = a, *y = b;
	return x->zombies > y->zombies ? -1 : x->zombies < y->zombies;
}

static int drop_rounds(const struct root *root, const struct offer *offer, struct purge_look *l,
		       struct purge_result *r, struct pin_holder *holders,
		       struct unknowns *unknowns, struct err *err)
{
	uint64_t last = r->before.dying;
	purge_sync(root, &r->files, holders);
	int e = purge_drop_ranges(root, &r->files, holders, l->options, &r->dropped_bytes);

	for (r->rounds = 1; e == 0; r->rounds++) {
		e = purge_settle(root, offer, l, &r->after, unknowns, err);
		if (e < 0 || !r->after.dying || r->rounds >= PURGE_ROUNDS || r->after.dying >= last)
			return e;
		last = r->after.dying;
		AUTO_ZOMBIE_FILES struct zombie_files files = { 0 };
		struct purge_side side;
		struct purge_look again = { .options = l->options, .census = l->census };
		e = purge_census(root, offer, &again, CENSUS_WANT_PINS | CENSUS_WANT_RANGES, &files,
				 &side, unknowns, err);
		if (e < 0 || !again.plan.freeable)
			return e;
		AUTO_FREE struct pin_holder *who = calloc(files.list.len + 1, sizeof(*who));
		if (!who)
			return err_set(err, -ENOMEM, "out of memory");
		e = pin_holders_read(root, &files, who, err);
		if (e == 0) {
			purge_sync(root, &files, who);
			e = purge_drop_ranges(root, &files, who, l->options, &r->dropped_bytes);
		}
	}
	return e;
}

/* What a process has mapped may be in use, and then its pages stay. */
static int find_mapped(const struct root *root, const struct zombie_files *files,
		       struct purge_result *r, struct err *err)
{
	AUTO_FREE struct pin_holder *who = calloc(files->list.len + 1, sizeof(*who));

	if (!who)
		return err_set(err, -ENOMEM, "out of memory");
	int e = pin_holders_read_mapped(root, files, who, err);
	for (size_t i = 0; e == 0 && i < files->list.len; i++) {
		const struct zombie_file *f = &files->list.items[i];
		struct purge_holder h = { .kind = PIN_FILE,
					  .pid = who[i].pid,
					  .zombies = f->zombies,
					  .file = f->path,
					  .shmid = -1 };
		if (!h.pid || !f->bytes || r->mapped.len >= PURGE_MOST_HOLDERS)
			continue;
		text_copy(h.comm, sizeof(h.comm), who[i].comm);
		if (!vec_push(&r->mapped, h))
			e = err_set(err, -ENOMEM, "out of memory");
	}
	vec_sort(&r->mapped, most_zombies_first);
	return e;
}

/* Why those are left that looked as if they could go. */
static int find_left(const struct root *root, const struct offer *offer, struct purge_look *l,
		     struct purge_result *r, struct unknowns *unknowns, struct err *err)
{
	struct purge_side side;

	if (!r->after.dying)
		return 0;
	int e = purge_census(root, offer, l, CENSUS_WANT_PINS, &r->left, &side, unknowns, err);
	return e < 0 ? e : find_mapped(root, &r->left, r, err);
}

static int apply(const struct root *root, const struct offer *offer, struct purge_look *l,
		 struct purge_result *r, struct pin_holder *holders, struct unknowns *unknowns,
		 struct err *err)
{
	if (!r->plan.freeable) /* no CPU for what cannot go */
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

static int run_with(const struct root *root, const struct offer *offer, struct census *census,
		    const struct purge_options *options, struct purge_result *ret,
		    struct unknowns *unknowns, struct err *err)
{
	uint64_t cpu = clock_cpu_ns(), wall = clock_mono_ns();
	struct purge_look l = { .options = options, .census = census, .result = ret };

	int r = purge_census(root, offer, &l, CENSUS_WANT_PINS | CENSUS_WANT_RANGES, &ret->files,
			     &ret->before, unknowns, err);
	if (r < 0)
		return r;
	ret->plan = l.plan;
	vec_foreach (&ret->files.list, f)
		ret->plan.files += f->kind == PIN_FILE && f->bytes;
	l.nudge = writeback_may_hold(&l.plan, offer, unknowns);
	AUTO_FREE struct pin_holder *holders = calloc(ret->files.list.len + 1, sizeof(*holders));
	if (!holders)
		return err_set(err, -ENOMEM, "out of memory");
	r = pin_holders_read(root, &ret->files, holders, err);
	if (r < 0)
		return r;
	name_holders(holders, ret);
	name_parents(root, ret);
	r = options->method == PURGE_FILES ? find_unreachable(holders, ret, err) : 0;
	if (r < 0)
		return r;
	vec_sort(&ret->holders, most_zombies_first);
	ret->after = ret->before;
	if (options->apply) {
		l.result = NULL;
		r = apply(root, offer, &l, ret, holders, unknowns, err);
		ret->applied = r == 0;
	}
	if (r == 0 && options->method == PURGE_FILES)
		r = options->apply ? find_left(root, offer, &l, ret, unknowns, err)
				   : find_mapped(root, &ret->files, ret, err);
	ret->cpu_ns = clock_cpu_ns() - cpu;
	ret->wall_ns = clock_mono_ns() - wall;
	return r;
}

int purge_run(const struct root *root, const struct offer *offer,
	      const struct purge_options *options, struct purge_result *ret,
	      struct unknowns *unknowns, struct err *err)
{
	struct census *census;
	struct err load = { 0 };
	unsigned restored;

	*ret = (struct purge_result){ 0 };
	int r = options->method == PURGE_RECLAIM ? purge_reclaim_writes(offer, options, ret->writes,
									sizeof(ret->writes), err)
						 : 0;
	if (r == 0 && options->apply)
		r = purge_restore(&restored, err);
	if (r < 0)
		return r;
	r = census_open(root, offer, CENSUS_WANT_PINS | CENSUS_WANT_RANGES, &census, &load);
	if (r < 0)
		return err_set(err, r,
			       "purge must know what it may touch, and that needs the census: %s",
			       load.text);
	r = run_with(root, offer, census, options, ret, unknowns, err);
	census_close(census);
	return r;
}

void purge_result_free(struct purge_result *r)
{
	vec_free(&r->holders);
	vec_free(&r->unreachable);
	vec_free(&r->mapped);
	zombie_files_free(&r->files);
	zombie_files_free(&r->left);
}

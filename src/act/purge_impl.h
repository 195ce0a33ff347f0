/* Between the files of purge; nobody else includes it. */
#pragma once

#include <signal.h>

#include "census.h"
#include "purge.h"

/* A cgroup of ours: this and the process id. */
#define PURGE_NUDGE       "zscope-purge-"
#define PURGE_DROP_CACHES "/proc/sys/vm/drop_caches"

struct purge_remains;

/* Of one walk (purge_parents.c). */
struct purge_parent {
	uint64_t path, bytes; /* path is its hash */
	bool may_stay;
};

struct purge_parents {
	VEC(struct purge_parent) list;
	struct map_u64 fates; /* hash of a path → what is the worst below it */
};

struct purge_look {
	const struct root *root;
	const struct purge_options *options;
	struct census *census; /* loaded once for all rounds */
	struct purge_plan plan;
	struct purge_result *result;   /* NULL = counts only */
	struct purge_remains *remains; /* NULL = why they are there is not asked */
	struct purge_parents parents;
	struct map_u64 devices; /* block device → 1 + the error when it was opened (negated) */
	bool nudge;  /* writeback holds some: the kernel must be made to look (purge_settle.c) */
	bool looked; /* the first census was taken */
	uint64_t own, own_bytes; /* cgroups of ours that the kernel still holds: not counted */
};

/* A look at the zombies: want 0 counts them only, else l->plan is made anew. */
int purge_census(const struct root *root, const struct offer *offer, struct purge_look *l,
		 unsigned want, struct zombie_files *files, struct purge_side *ret_side,
		 struct unknowns *unknowns, struct err *err);
/* Wait while the number still falls. */
int purge_settle(const struct root *root, const struct offer *offer, struct purge_look *l,
		 struct purge_side *ret, struct unknowns *unknowns, struct err *err);
/* Write back the file systems of `files`, once each. holders[i] leads to deleted file i. */
void purge_sync(const struct root *root, const struct zombie_files *files,
		const struct pin_holder *holders);
/* Drop the ranges of `files` from the page cache. */
int purge_drop_ranges(const struct root *root, struct zombie_files *files,
		      const struct pin_holder *holders, const struct purge_options *options,
		      uint64_t *ret_bytes, struct err *err);
/* Which file the method `reclaim` writes to. */
int purge_reclaim_writes(const struct offer *offer, const struct purge_options *options, char *ret,
			 size_t size, struct err *err);
int purge_reclaim(const struct offer *offer, const char *writes,
		  const struct purge_options *options, const struct purge_plan *plan,
		  struct err *err);
/* z stays, or may stay: so do the dead ones above it. */
bool purge_parents_mark(struct purge_parents *p, const struct zombie *z, bool stays);
/* z could go but for the zombies below it. */
bool purge_parents_take(struct purge_parents *p, const struct zombie *z, bool may_stay);
/* After the walk: into the plan. */
void purge_parents_judge(const struct purge_parents *p, struct purge_plan *plan);
void purge_parents_free(struct purge_parents *p);

/* What keeps the zombie whatever the method does; PIN_KIND_END = it can be freed, or, with
 * *ret_may_stay, tried; PIN_CHILD = so it is, but for the zombies below it. */
enum pin_kind purge_stuck_by(struct purge_look *l, const struct zombie *z,
			     const struct zombie_files *files, bool *ret_may_stay);

/* Zombies that are left, and the files that hold each (purge_left.c). */
struct purge_remains *purge_remains_new(void);
void purge_remains_free(struct purge_remains *r);
bool purge_remains_take(struct purge_remains *r, const struct zombie *z, enum pin_kind stuck,
			const struct zombie_files *files);
/* mapped[i] tells who has left file i mapped. */
int purge_remains_explain(const struct purge_remains *r, const struct pin_holder *mapped,
			  struct purge_result *ret, struct err *err);

/* Who holds what is stuck, and which files are out of reach (purge_name.c). */
int purge_name(struct purge_look *l, const struct pin_holder *holders,
	       const struct process_unseen *unseen, struct purge_result *r,
	       struct unknowns *unknowns, struct err *err);
int purge_find_mapped(const struct root *root, const struct zombie_files *files,
		      struct pin_holder *who, struct purge_result *r, struct unknowns *unknowns,
		      struct err *err);
/* The block device of a file's metadata, opened; negative errno. */
int purge_open_device(const struct root *root, const struct zombie_file *f);

/* Signals between begin and end only set a mark. */
enum { PURGE_STOP_SIGNALS = 3 };
struct purge_stop {
	struct sigaction before[PURGE_STOP_SIGNALS];
};
void purge_stop_begin(struct purge_stop *s);
void purge_stop_end(const struct purge_stop *s);
int purge_stopped(struct err *err); /* 0, or -EINTR when one came */

/* One purge at a time, because they share the journal: waits for up to a minute. A descriptor to
 * close when it is over. */
int purge_lock(struct err *err);
/* A journal for what will be changed below or at path, which is checked first. Then a line each,
 * before it is changed: `value` is written back to path, "rmdir" removes it. */
int purge_journal_new(const char *path, struct err *err);
int purge_journal_undo(unsigned *ret, struct err *err);
int purge_journal_add(int journal, const char *value, const char *path);
int purge_write_text(const char *path, const char *text);
int purge_read_text(const char *path, char *ret, size_t size); /* the first line */

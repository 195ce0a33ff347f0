/* Between the files of purge; nobody else includes it. */
#pragma once

#include "census.h"
#include "purge.h"

/* A cgroup of ours: this and the process id. */
#define PURGE_NUDGE       "zscope-purge-"
#define PURGE_DROP_CACHES "/proc/sys/vm/drop_caches"

struct purge_look {
	const struct purge_options *options;
	struct census *census; /* loaded once for all rounds */
	struct purge_plan plan;
	struct purge_result *result; /* NULL = counts only */
	bool nudge; /* writeback holds some: the kernel must be made to look (purge_settle.c) */
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
		      uint64_t *ret_bytes);
/* Which file the method `reclaim` writes to. */
int purge_reclaim_writes(const struct offer *offer, const struct purge_options *options, char *ret,
			 size_t size, struct err *err);
int purge_reclaim(const struct offer *offer, const char *writes,
		  const struct purge_options *options, const struct purge_plan *plan,
		  struct err *err);
/* Journal that this directory will be made by us: purge_restore removes it. */
int purge_journal_rmdir(const char *path, struct err *err);
int purge_read_text(const char *path, char *ret, size_t size); /* the first line */

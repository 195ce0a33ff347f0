/* Letting zombies go without a reboot, and without harming anybody else's cache.
 *
 * files: write back and drop exactly those pages of files that are charged to zombies
 * (posix_fadvise DONTNEED on their ranges), again and again until nothing more goes. Nothing else
 * is evicted. reclaim: the kernel reclaims below one named cgroup: v1 memory.force_empty, v2
 * memory.reclaim with live children protected by memory.min meanwhile. Needs no names, but works on
 * everything below. With whole_host at the root: v2 as below; v1, whose root refuses force_empty,
 * and kernels without memory.reclaim by drop_caches.
 *
 * What can be freed is found first, so that no CPU is burnt on the rest; the rest is named with
 * what would free it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "census_summary.h"
#include "err.h"
#include "offer.h"
#include "pin_holders.h"
#include "root.h"
#include "unknowns.h"
#include "zombie.h"

enum purge_method {
	PURGE_FILES,
	PURGE_RECLAIM,
};

struct purge_options {
	enum purge_method method;
	const char *below; /* zombies below this cgroup only; the subtree that reclaim works on */
	bool apply;
	bool whole_host; /* allows reclaim at the root, and drop_caches where the root has none */
	/* From 0 to 1; NULL = silence. */
	void (*progress)(void *arg, const char *what, double done);
	void *arg;
};

struct purge_plan {
	uint64_t zombies, bytes;
	uint64_t freeable, freeable_bytes; /* by the method */
	/* Tried as well, but nobody can say that they go: file system metadata, which the file
	 * system itself may have in use. */
	uint64_t may_stay, may_stay_bytes;
	uint64_t files;     /* whose pages are dropped */
	uint64_t writeback; /* freeable ones that also, or only, wait for files to be written */
	uint64_t inodes;    /* freeable ones that go when inodes leave the cache (before 5.15) */
	uint64_t stuck[PIN_KIND_END]; /* zombies that cannot be freed, by the pin that keeps them */
	uint64_t deleted_unreachable; /* deleted files whose holder was not found */
};

enum { PURGE_MOST_HOLDERS = 1000 };

/* A process that keeps zombies. */
struct purge_holder {
	enum pin_kind kind;
	int pid; /* 0 = nobody, or not known */
	bool not_known;
	char comm[16];
	uint64_t zombies;
	const char *file;  /* NULL = none */
	const char *owner; /* of the process; NULL = not known */
	/* System V shared memory, which needs no process; -1 = it is none, or not known in which
	 * IPC namespace the id counts. ipc_pid leads to that one where it is not ours. */
	int64_t shmid;
	uint64_t ipc_ns;
	int ipc_pid;
	/* Of locked memory: it may be this one, with so much. zombies is not known. */
	uint64_t locked_bytes;
	bool recorder; /* a zscope record */
};

/* A file whose pages cannot be dropped from here. */
struct purge_unreachable {
	size_t file;     /* index in purge_result.files */
	const char *why; /* static */
};

/* Why zombies are left after a purge. */
struct purge_left {
	const char *why;    /* static */
	const char *cure;   /* static; NULL = none is known */
	enum pin_kind kind; /* what holds them; PIN_KIND_END = what could have gone */
	uint64_t zombies;
};

struct purge_side {
	uint64_t tracked, dying, bytes;
	uint64_t live_cache_bytes;         /* file pages of everybody else */
	uint64_t percpu_bytes, slab_bytes; /* of the host */
};

struct purge_result {
	struct purge_plan plan;
	VEC(struct purge_holder) holders;          /* of what is stuck, most zombies first */
	VEC(struct purge_unreachable) unreachable; /* files of the first look */
	/* Files that processes have mapped: pages in use stay. In a dry run of all files, else of
	 * those that still hold zombies. */
	VEC(struct purge_holder) mapped;
	VEC(struct purge_left) left_why; /* of all that are left, once each; empty in a dry run */
	struct purge_side before, after; /* after = before in a dry run */
	/* The method `reclaim`: the file that is written to. */
	char writes[1000];
	bool applied;
	unsigned rounds; /* 0 = there was nothing that could be freed, so nothing was tried */
	uint64_t dropped_bytes;
	uint64_t cpu_ns; /* of this process */
	uint64_t wall_ns;
	struct zombie_files files; /* of the first look */
	struct zombie_files left;  /* of the last; empty in a dry run */
};

int purge_run(const struct root *root, const struct offer *offer,
	      const struct purge_options *options, struct purge_result *ret,
	      struct unknowns *unknowns, struct err *err);
void purge_result_free(struct purge_result *r);
/* Put back protections, and remove a cgroup of ours, that a killed purge left; *ret counts them.
 * Every purge does it first. What cannot be undone stays written down, and fails. */
int purge_restore(unsigned *ret, struct err *err);
const char *purge_method_name(enum purge_method method);
/* For qsort of struct purge_holder. */
int purge_most_zombies_first(const void *a, const void *b);

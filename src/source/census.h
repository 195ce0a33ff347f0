/* The census: every memory cgroup that the kernel holds, read by a BPF program in slices
 * (src/bpf/census_walk.bpf.c). Works on v1, v2 and hybrid hosts, also from inside a cgroup
 * namespace, because the kernel's own list is walked and not a directory tree. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "offer.h"
#include "root.h"
#include "unknowns.h"
#include "zombie.h"

struct census;

enum census_want {
	CENSUS_WANT_PINS = 1,   /* what holds each zombie */
	CENSUS_WANT_SPLIT = 2,  /* tell anonymous from shared memory */
	CENSUS_WANT_RANGES = 4, /* with pins: which pages of each file, for purge */
};

/* What is said to be unknown when writeback could not be asked. */
#define CENSUS_WRITEBACK_UNKNOWN "writeback that holds zombies"

struct census_totals {
	uint64_t live, dying; /* memcgs; the root is live */
	uint64_t slices, steps;
	uint64_t restarts;         /* a level was entered again because the list changed */
	uint64_t kernel_ns;        /* CPU time of all slices, those that find pins included */
	uint64_t longest_slice_ns; /* CPU time in the kernel without a break */
	uint64_t too_deep;         /* cgroups whose children were not walked */
	uint64_t max_serial;       /* newest cgroup seen: with the time it dates births */
	bool complete;
	char how[48]; /* "bpf_loop", "raw tracepoint test run", "tracepoint trigger" */
};

/* Loads the program; err says which thing is missing (BTF, privilege, lockdown, kernel version). */
int census_open(const struct root *root, const struct offer *offer, unsigned want,
		struct census **ret, struct err *err);
/* Calls back for each zombie below `below` (NULL = all) as it is found: nothing is collected, so
 * memory does not grow with their number. z and all it points to is valid during the call only.
 * Files that pin are added to `files` (may be NULL without CENSUS_WANT_PINS). Non-zero from each
 * ends the walk and is returned. */
int census_walk(struct census *c, const char *below, struct zombie_files *files,
		int (*each)(void *arg, const struct zombie *z), void *arg,
		struct unknowns *unknowns, struct census_totals *ret, struct err *err);
/* Less than it was opened for, for the next walks. */
void census_set_want(struct census *c, unsigned want);
void census_close(struct census *c);

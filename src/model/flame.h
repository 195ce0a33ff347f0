/* A flame graph: the call tree of a profile with weights, by names. Also what a person asks of a
 * profile before looking at pictures: which samples, and the top functions, processes, cores. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "map.h"
#include "profile.h"
#include "vec.h"

/* Which samples; a zeroed filter takes all. Texts with * or ? are patterns. */
struct flame_filter {
	bool by_cpu, by_pid;
	uint32_t cpu, pid;
	const char *comm;   /* thread name */
	const char *cgroup; /* path or a part of it that ends at a '/' */
	const char *unit;   /* one component of the path: "x.service" */
	bool kernel, user;  /* only frames of that side; samples without one go */
};

/* Drop the samples that the filter does not take, and the frames. */
void flame_filter_apply(struct profile *p, const struct flame_filter *f);

/* For long windows: samples of one process name and stack become one, whose weight is theirs.
 * flame_sums_add may be called again after more samples were added to the profile; it is a
 * profile_read_options.chunk. What is left knows no times and no cores. */
struct flame_sums {
	struct flame_filter filter;
	struct map_u64 index;
	size_t summed;
};

void flame_sums_add(void *sums, struct profile *p);
void flame_sums_free(struct flame_sums *s);

struct flame_node {
	uint32_t name;                      /* string of the profile */
	uint32_t parent;                    /* node 0 is the root, "all" */
	uint32_t first_child, next_sibling; /* 0 = none; by name */
	uint64_t self, total;
	uint64_t base_self, base_total; /* of the other window, in a diff; scaled */
	uint16_t depth;
	uint8_t kind; /* enum profile_frame_kind; of a comm PROFILE_UNKNOWN */
};

struct flame {
	VEC(struct flame_node) nodes;
	struct profile *profile; /* whose strings the names are */
};

/* Adds strings (display names) to the profile. -ENOMEM. */
int flame_build(struct profile *p, struct flame *ret);
void flame_free(struct flame *f);

/* Lines of the --top tables, most self first. */
struct flame_function {
	uint32_t name, module; /* strings */
	uint8_t kind;
	uint64_t self, total; /* total: once per sample, however deep it recurses */
};

struct flame_process {
	uint32_t pid, comm, cgroup; /* comm, cgroup's path: strings */
	uint64_t samples, kernel;   /* kernel: leaf in the kernel */
};

struct flame_core {
	uint32_t cpu;
	uint64_t samples, kernel;
	uint64_t expected, received, lost, missing; /* 0 when not recorded */
	bool accounted;
};

struct flame_top {
	VEC(struct flame_function) functions;
	VEC(struct flame_process) processes;
	VEC(struct flame_core) cores;  /* by number */
	uint64_t weight, kernel, user; /* all samples; by the side of their leaf */
};

int flame_top(struct profile *p, struct flame_top *ret);
void flame_top_free(struct flame_top *t);

#define AUTO_FLAME      __attribute__((cleanup(flame_free)))
#define AUTO_FLAME_SUMS __attribute__((cleanup(flame_sums_free)))
#define AUTO_FLAME_TOP  __attribute__((cleanup(flame_top_free)))

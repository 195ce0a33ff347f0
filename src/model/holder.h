/* Who held a core, and who walks memory cgroups, by the samples of a profile. Pure. */
#pragma once

#include "profile.h"

/* The process with the most samples on one core in [from, to). */
struct holder {
	uint32_t pid;
	const char *comm;      /* owned by the profile */
	const char *cgroup;    /* path, "" = not known */
	const char *function;  /* its hottest kernel function by self samples, NULL = none in the
				  kernel */
	double share;          /* percent of the core's samples */
	double function_share; /* percent of the core's samples that lie in function or what it
				  calls */
	uint64_t samples;      /* of the core */
};

/* false when the core has no samples in the window. */
bool holder_of_core(const struct profile *p, unsigned cpu, uint64_t from_ns, uint64_t to_ns,
		    struct holder *ret);

/* A process and how much of its time goes into iterating memory cgroups. */
struct walker {
	uint32_t pid;
	const char *comm, *cgroup, *function; /* the walking function seen most often */
	unsigned cpu;                         /* where most of its walking samples lie */
	uint64_t samples, walking;
	uint64_t from_ns, to_ns; /* of the walking samples */
};

struct walkers {
	VEC(struct walker) list; /* most walking samples first */
};

/* Kernel functions whose cost grows with the number of memory cgroups, dying ones included. */
bool walker_is_walk(const char *symbol);
int walkers_find(const struct profile *p, struct walkers *ret);
void walkers_free(struct walkers *w);

#define AUTO_WALKERS __attribute__((cleanup(walkers_free)))

/* What the census programs and source/census*.c share: how a job is run in slices, and the records
 * of the walk. */
#pragma once

enum {
	CENSUS_OUT = 256,       /* records per slice */
	CENSUS_DEPTH = 64,      /* levels of the hierarchy that are walked */
	CENSUS_NAME = 256,      /* NAME_MAX + 1 */
	CENSUS_LRUS = 5,        /* inactive/active anon, inactive/active file, unevictable */
	CENSUS_NODES = 64,      /* NUMA nodes */
	CENSUS_NODES_CHUNK = 4, /* the same without bpf_loop */
	CENSUS_CHUNK = 8,       /* steps per call without bpf_loop */
	CENSUS_ZONES = 6,       /* zones per node */
	CENSUS_ZONE_WORDS = 48, /* 4 generations of 2 types in 6 zones; 6 zones of 5 lists */
	CENSUS_CSS_WORDS = 32,  /* powers of two, at least the struct's size */
	CENSUS_KN_WORDS = 16,
};

enum census_have {
	CENSUS_HAVE_REFS = 1,
	CENSUS_HAVE_KMEM = 2,
	CENSUS_HAVE_SWAP = 4,
	CENSUS_HAVE_SWAP_REFS = 8,
	CENSUS_HAVE_LRU = 16,
	CENSUS_HAVE_USAGE = 32,
	CENSUS_HAVE_BELOW = 64,
};

/* What a walk reads beyond names and bytes. */
enum census_detail {
	CENSUS_DETAIL_REFS = 1, /* references, usage, number of zombies below */
	CENSUS_DETAIL_SWAP = 2,
};

/* Every job's state begins with this. */
struct census_ctl {
	/* set by the user side */
	unsigned int budget;  /* steps per slice */
	unsigned int own_pid; /* of the caller, where a tracepoint triggers */
	unsigned int armed;   /* a triggered run does something, once */
	unsigned int targets; /* how many of the batch */
	/* results */
	unsigned int out_n;
	unsigned int done;
	unsigned int ran; /* runs so far: a trigger that did nothing shows */
	unsigned int unused;
	unsigned long long steps;
};

/* What the programs are made for; constant once they are loaded, so that what this host does not
 * need costs nothing. */
struct census_host {
	unsigned int nodes;  /* highest possible NUMA node + 1 */
	unsigned int v1;     /* swap is counted together with memory */
	unsigned int detail; /* enum census_detail that a walk may ask for */
};

/* One css that is dying or has children. Numbers are valid where `have` says so. */
struct census_rec {
	unsigned long long css, serial, id;
	unsigned int depth, have, dying;
	unsigned int swap_refs;
	unsigned int children; /* has some; those of a dying one are dying, too */
	unsigned int below;    /* dying cgroups below it, at any depth */
	unsigned long long kmem_pages;
	unsigned long long lru[CENSUS_LRUS]; /* pages */
	long long refs;
	unsigned long long usage_pages, swap_pages;
	char name[CENSUS_NAME];
};

struct census_level {
	unsigned long long css, serial;
};

/* A batch of addresses, each with what must be found there for it to be still the same thing. */
struct census_target {
	unsigned long long ptr, check;
};

/* All state of a walk lives here, so that it survives from slice to slice. */
struct walk_state {
	struct census_ctl ctl;
	unsigned int detail; /* enum census_detail of this walk */
	unsigned int fresh;  /* first step of a slice */
	unsigned long long live, dying, restarts, discarded, too_deep;
	unsigned long long max_serial; /* newest cgroup seen, live ones included */
	unsigned int depth;
	unsigned int unused;
	unsigned long long pos, last;
	struct census_level level[CENSUS_DEPTH];
	/* scratch that is too large for the stack */
	unsigned long long words[CENSUS_ZONE_WORDS];
	unsigned long long css[CENSUS_CSS_WORDS], kn[CENSUS_KN_WORDS];
};

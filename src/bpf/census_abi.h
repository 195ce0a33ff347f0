/* What census.bpf.c and source/census*.c share. */
#pragma once

enum {
	CENSUS_OUT = 256,       /* records per slice */
	CENSUS_DEPTH = 64,      /* levels of the hierarchy that are walked */
	CENSUS_NAME = 256,      /* NAME_MAX + 1 */
	CENSUS_LRUS = 5,        /* inactive/active anon, inactive/active file, unevictable */
	CENSUS_NODES = 64,      /* NUMA nodes */
	CENSUS_NODES_CHUNK = 4, /* the same without bpf_loop */
	CENSUS_CHUNK = 8,       /* steps per call without bpf_loop */
	CENSUS_ZONE_WORDS = 40, /* 6 zones of 5 lists; 4 generations of 2 types in 5 zones */
	CENSUS_CSS_WORDS = 32,  /* powers of two, at least the struct's size */
	CENSUS_KN_WORDS = 16,
	CENSUS_PATH_DEPTH = 48, /* components of a pinning file's path */
};

enum census_have {
	CENSUS_HAVE_REFS = 1,
	CENSUS_HAVE_KMEM = 2,
	CENSUS_HAVE_SWAP = 4,
	CENSUS_HAVE_SWAP_REFS = 8,
	CENSUS_HAVE_LRU = 16,
};

/* What a walk reads beyond names and bytes. */
enum census_detail {
	CENSUS_DETAIL_REFS = 1,
	CENSUS_DETAIL_SWAP = 2,
};

/* One css that is dying or has children. Numbers are valid where `have` says so. */
struct census_rec {
	unsigned long long css, serial, id;
	unsigned int flags, depth, have, dying;
	unsigned long long kmem_pages;
	unsigned long long zones[CENSUS_ZONE_WORDS]; /* pages, by zone and list */
	char name[CENSUS_NAME];
	long long refs;
	unsigned long long usage_pages, swap_pages;
	unsigned int swap_refs;
	unsigned int more;                          /* NUMA nodes in more_zones */
	unsigned long long gens[CENSUS_ZONE_WORDS]; /* by generation, type and zone */
	unsigned long long more_zones[CENSUS_NODES_CHUNK - 1][CENSUS_ZONE_WORDS];
};

enum census_pin_kind {
	CENSUS_PIN_FILE,
	CENSUS_PIN_SHMEM,
	CENSUS_PIN_ANON,
	CENSUS_PIN_OTHER,
};

/* A run of neighbouring pages of one inode on one LRU list of one zombie. */
struct census_pin {
	unsigned long long inode, ino, pages;
	unsigned long long index; /* of the first page in the file */
	unsigned int zombie;      /* index in the batch */
	unsigned int kind;
	unsigned int dev, nlink, magic, generation;
};

/* One component of a path, from the leaf up. */
struct census_part {
	unsigned int index, level;
	unsigned int len;
	char name[CENSUS_NAME];
};

/* A task or cgroup namespace that refers to a dying memcg. */
struct census_task {
	unsigned long long css;    /* its own memcg, 0 = that one is alive */
	unsigned long long ns_css; /* root of its cgroup namespace, 0 = alive */
	int pid, tgid, ppid;
	unsigned int exit_state;
	char comm[16];
};

/* A socket that is charged to a dying memcg, and who has it open. */
struct census_sock {
	unsigned long long css;
	unsigned long long inode; /* of the socket, as in /proc/PID/fd */
	int pid;
	unsigned short protocol, family, port; /* the local one */
	unsigned short unused;
	char comm[16];
};

struct census_level {
	unsigned long long css, serial;
};

struct census_target {
	unsigned long long ptr, check, check2;
};

/* All state of a walk lives here, so that it survives from slice to slice. */
struct census_state {
	/* set by the user side */
	unsigned int nodes;   /* highest possible NUMA node + 1 */
	unsigned int budget;  /* steps per slice */
	unsigned int targets; /* pins, paths: how many of the batch */
	unsigned int pin_anon_only;
	unsigned int v1;      /* swap is counted together with memory */
	unsigned int detail;  /* enum census_detail */
	unsigned int own_pid; /* of the caller, where a tracepoint triggers */
	unsigned int job;     /* what a triggered run does: 0 nothing, 1 walk, 2 pins, 3 paths */
	/* results */
	unsigned int out_n;
	unsigned int done;
	unsigned int ran;                   /* runs so far: a trigger that did nothing shows */
	unsigned int fresh;                 /* first step of a slice */
	unsigned int zone_words, gen_words; /* of this kernel; 0 = it has none */
	unsigned long long live, dying, steps, restarts, discarded, too_deep;
	unsigned long long max_serial; /* newest cgroup seen, live ones included */
	/* the walk */
	unsigned int depth;
	unsigned long long pos, last;
	struct census_level level[CENSUS_DEPTH];
	/* pins: where we are */
	unsigned int at, list, lists;
	unsigned long long head, prev;
	unsigned long long run_inode, run_pages, run_first, run_end;
	unsigned int run_kind, broken;
	/* paths */
	unsigned long long dentry;
	unsigned int name_level;
	/* scratch that is too large for the stack */
	unsigned long long zones[CENSUS_ZONE_WORDS], gens[CENSUS_ZONE_WORDS];
	unsigned long long css[CENSUS_CSS_WORDS], kn[CENSUS_KN_WORDS];
	unsigned long long page[8];
};

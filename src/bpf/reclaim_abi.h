/* What reclaim.bpf.c and source/reclaim.c share. */
#pragma once

/* Durations fall into 8 buckets per power of two: a percentile is right within 13 %. */
enum {
	RECLAIM_SUB_BITS = 3,
	RECLAIM_LOW_BIT = 9,   /* the first bucket takes all below 512 ns */
	RECLAIM_HIGH_BIT = 36, /* the last one all from 68 s */
	RECLAIM_BUCKETS = (RECLAIM_HIGH_BIT - RECLAIM_LOW_BIT) << RECLAIM_SUB_BITS,
	RECLAIM_NAMES = 1024,
	RECLAIM_NAME = 256,
	RECLAIM_OWN_NAMES = 512,
	RECLAIM_MOST_GROUPS = 128,
	RECLAIM_MOST_PAYERS = 512,
	RECLAIM_MOST_OPEN = 1024,
};

enum reclaim_how {
	RECLAIM_AT_LIMIT, /* a cgroup at its limit */
	RECLAIM_ASKED,    /* in a cgroup, none above the task at its limit: memory.reclaim ... */
	RECLAIM_DIRECT,   /* the host was short: by whoever wanted memory */
	RECLAIM_KSWAPD,   /* the host was short: in the background */
};

struct reclaim_key {
	unsigned long long cgroup; /* id of the one at its limit; 0 = none */
	unsigned int how;
	unsigned int zero;
};

struct reclaim_group {
	unsigned long long passes, total_ns, max_ns, pages;
	unsigned int buckets[RECLAIM_BUCKETS];
	/* of the cgroup and all above it: see cgroup_names() */
	unsigned int names_len;
	char names[RECLAIM_NAMES + RECLAIM_NAME];
};

struct reclaim_payer_key {
	struct reclaim_key group;
	int pid; /* of the process */
	unsigned int zero;
};

struct reclaim_payer {
	unsigned long long passes, total_ns, max_ns;
	char comm[16];
	unsigned int names_len; /* of its own memory cgroup, as above */
	char names[RECLAIM_OWN_NAMES + RECLAIM_NAME];
};

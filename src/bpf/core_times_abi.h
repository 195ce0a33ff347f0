/* One core's clocks as the kernel keeps them. Both sides of core_times.bpf.c. */
#pragma once

#include <linux/types.h>

enum {
	CORE_TIMES_KINDS = 10, /* of time, in the order of the kernel's enum cpu_usage_stat */
	CORE_TIMES_BATCH = 128 /* cores in one run */
};

struct core_times_rec {
	__u64 rq; /* where its run queue lies; 0 = there is no such core */
	__u64 times_ns[CORE_TIMES_KINDS];
	/* idle time is kept apart from the others, and counted when it ends */
	__u64 idle_ns, iowait_ns;
	__u64 idle_since_ns; /* while it idles */
	__u64 now_ns;        /* the same clock */
	__u64 switches;      /* of context */
	__s32 waiting;       /* tasks that wait for a disk */
	__u8 online;
	__u8 idles;
	__u8 torn; /* it went to sleep and woke again while it was read */
	__u8 spare;
};

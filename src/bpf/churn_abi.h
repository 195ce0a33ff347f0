/* What churn.bpf.c and source/churn.c share. */
#pragma once

enum churn_type {
	CHURN_MKDIR,
	CHURN_RMDIR,
	CHURN_RELEASE,
	CHURN_ATTACH,
};

enum { CHURN_PATH = 512, CHURN_RING = 1 << 20, CHURN_NAMES = 512, CHURN_NAME = 256 };

struct churn_raw {
	unsigned long long time_ns; /* CLOCK_MONOTONIC */
	unsigned long long id;
	unsigned int type;
	int pid, ppid;
	char comm[16];
	char path[CHURN_PATH];
};

/* CHURN_MKDIR comes with its creator's. */
struct churn_raw_made {
	struct churn_raw raw;
	char parent_comm[16];
	/* of its own memory cgroup and all above it: see cgroup_names() */
	unsigned int names_len;
	char names[CHURN_NAMES + CHURN_NAME];
};

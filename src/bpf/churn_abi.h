/* What churn.bpf.c and source/churn.c share. */
#pragma once

enum churn_type {
	CHURN_MKDIR,
	CHURN_RMDIR,
	CHURN_RELEASE,
	CHURN_ATTACH,
};

enum { CHURN_PATH = 512, CHURN_RING = 1 << 20 };

struct churn_raw {
	unsigned long long time_ns; /* CLOCK_MONOTONIC */
	unsigned long long id;
	unsigned int type;
	int pid, ppid;
	char comm[16];
	char own_name[128]; /* the creator's own memory cgroup and the one above it */
	char own_parent[128];
	char path[CHURN_PATH];
};

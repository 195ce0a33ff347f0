/* What this host offers: how its cgroups are laid out (and where the memory controller is), whether
 * we see all of them, and which kernel interfaces are there. Absence is reported with a reason,
 * never guessed. */
#pragma once

#include <stdbool.h>

#include "root.h"

/* Numbers are stored in ticks. */
enum cgroup_mode {
	CGROUP_MODE_NONE,
	CGROUP_MODE_V1,
	CGROUP_MODE_V2,
	CGROUP_MODE_HYBRID, /* v1 hierarchies and a v2 one side by side */
};

enum cgroup_memory {
	CGROUP_MEMORY_NONE,
	CGROUP_MEMORY_V1,
	CGROUP_MEMORY_V2,
};

/* Where a hierarchy is mounted, relative to the root ("sys/fs/cgroup/memory"); "" = not mounted. */
struct offer_mount {
	char dir[256];
	char top[256]; /* which cgroup is at dir: "/" = the root of the hierarchy */
};

struct offer {
	enum cgroup_mode mode;
	enum cgroup_memory memory;
	struct offer_mount memory_v1;
	struct offer_mount cpu_v1;
	struct offer_mount pids_v1;
	struct offer_mount systemd_v1; /* name=systemd */
	struct offer_mount unified;    /* cgroup2 */
	struct offer_mount tracefs;
	bool other_v1; /* some other v1 hierarchy is mounted */
	/* Nothing found is not the same as nothing there. */
	bool mounts_read;  /* a list of mounts was there to look through */
	bool mode_known;   /* false: CGROUP_MODE_NONE claims nothing */
	bool memory_known; /* false: CGROUP_MEMORY_NONE claims nothing */
	bool layout_read;  /* what tells where the memory controller is could all be read */

	/* A container sees only its own part: live cgroups cannot be counted from here. */
	bool namespaced;
	char namespaced_why[200];

	bool btf;        /* sys/kernel/btf/vmlinux */
	bool perf;       /* perf_event_open exists */
	bool bpf;        /* the bpf system call is there and not shut off for us */
	bool kmsg;       /* dev/kmsg can be opened */
	unsigned n_cpus; /* highest possible core number + 1; 0 = unknown */
};

/* Never fails as a whole: what cannot be read stays none / false. */
void offer_read(const struct root *root, struct offer *ret);
/* The directory of the memory controller's hierarchy; NULL when it is not mounted. */
const struct offer_mount *offer_memory_mount(const struct offer *offer);
const char *cgroup_mode_name(enum cgroup_mode mode);       /* "v1" "v2" "hybrid" "none" */
const char *cgroup_memory_name(enum cgroup_memory memory); /* "v1" "v2" "none" */

/* Pure parts. */
void offer_parse_mountinfo(const char *text, struct offer *ret);
/* Sets mode and memory, and whether they are known, from the mounts, /proc/cgroups and the v2
 * root's cgroup.controllers (either text may be NULL = not readable). */
void offer_judge(struct offer *offer, const char *proc_cgroups, const char *controllers);

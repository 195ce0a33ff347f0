/* Cgroups made, removed and released over a time, by owner. FRAME_CHURN in a recording. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "buf.h"
#include "cgroup_lives.h"
#include "map.h"
#include "owner.h"
#include "vec.h"

struct churn_group {
	const char *owner;          /* owner_group() of the cgroups */
	const char *parent;         /* directory in which they are made */
	const char *unit;           /* of the cgroups; NULL = none */
	const char *creator;        /* comm of who made the last one; NULL = not known */
	const char *creator_cgroup; /* its own cgroup: "/system.slice/docker.service" */
	const char *creator_parent; /* comm of its parent; NULL = not known */
	enum owner_kind kind;
	uint64_t made, removed, released, attached;
	uint64_t lifetime_ns, lifetimes; /* made → removed, of those seen whole */
	uint64_t zombie_ns, zombies;     /* removed → released */
	int pid, ppid;                   /* of the last creator; 0 = not known */
	uint64_t young; /* removed, not released, but only just: see churn_summary_young */
};

/* A removal that is too fresh to tell whether the cgroup stays behind. */
struct churn_removal {
	uint64_t id, mono_ns;
	size_t group; /* index in groups */
};

struct churn_summary {
	uint64_t from_ns, to_ns; /* wall clock */
	uint64_t lost;           /* events that did not fit */
	bool creators_known;     /* false: only names were seen (inotify) */
	VEC(struct churn_group) groups;
	struct map_str by_owner;
	struct map_u64 made_at, removed_at; /* cgroup id → monotonic time */
	VEC(struct churn_removal) recent;   /* removals of the last CHURN_YOUNG_NS */
	/* Cgroups that were removed in this stretch and are zombies at its end. Strings of decoded
	 * ones live in `strings`. */
	VEC(struct cgroup_life) zombies;
	uint64_t zombies_left_out; /* that did not fit */
	struct arena strings;
};

enum { CHURN_MOST_GROUPS = 1024, CHURN_MOST_OPEN = 100000, CHURN_MOST_ZOMBIES = 2000 };
/* The kernel releases even an empty cgroup only after grace periods and a worker: what was removed
 * less than this ago is on its way and no zombie. */
#define CHURN_YOUNG_NS UINT64_C(1000000000)

enum churn_what {
	CHURN_MADE,
	CHURN_REMOVED,
	CHURN_RELEASED,
	CHURN_ATTACHED,
};

struct churn_event {
	enum churn_what what;
	uint64_t mono_ns;
	uint64_t id; /* 0 = not known */
	const char *path;
	const char *comm;        /* NULL = not known */
	const char *own_cgroup;  /* of the creator; "…/a/b" = its upper part is not known */
	const char *parent_comm; /* of the creator's parent; NULL = not known */
	int pid, ppid;
};

bool churn_summary_add(struct churn_summary *s, const struct churn_event *e);
/* Add the groups of `from` to those of `s`, owner by owner; the stretch grows by its. */
bool churn_summary_merge(struct churn_summary *s, const struct churn_summary *from);
/* Start the next stretch: groups and their numbers go, open lifetimes stay. */
void churn_summary_clear(struct churn_summary *s);
void churn_summary_free(struct churn_summary *s);
/* Count, per group, what was removed shortly before now and is not released yet. Before sorting. */
void churn_summary_young(struct churn_summary *s, uint64_t mono_ns);
/* Zombies it left: removed, not released, and not only just. In the first stretches of a recording
 * those of before it are released, too: never below 0. */
uint64_t churn_group_left(const struct churn_group *g);
/* Those that left most zombies first, then most made. */
void churn_summary_sort(struct churn_summary *s);
void churn_summary_encode(struct buf *out, const struct churn_summary *s, size_t most);
int churn_summary_decode(const void *bytes, size_t len, struct churn_summary *ret);

#define AUTO_CHURN_SUMMARY __attribute__((cleanup(churn_summary_free)))

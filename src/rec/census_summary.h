/* What a census says in short: the numbers, and the zombies by owner. Zombies are added one by one
 * and forgotten, so that it stays small whatever their number. FRAME_CENSUS in a recording. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "buf.h"
#include "map.h"
#include "vec.h"
#include "zombie.h"

enum census_summary_have {
	CENSUS_TRACKED = 1 << 0,
	CENSUS_LIVE = 1 << 1,
	CENSUS_DYING = 1 << 2,
	CENSUS_BYTES = 1 << 3,        /* bytes, file_bytes, unevictable_bytes */
	CENSUS_GROUPS = 1 << 4,       /* zombies are named */
	CENSUS_KERNEL_COUNT = 1 << 5, /* the kernel's own number was read too */
	CENSUS_SERIAL = 1 << 6,
	CENSUS_PINNED = 1 << 7, /* by_pin was counted */
	CENSUS_PERCPU = 1 << 8,
	CENSUS_SLAB = 1 << 9,
	CENSUS_SPLIT = 1 << 10,    /* anon_bytes and shmem_bytes; else their sum is in anon_bytes */
	CENSUS_SLAB_SUM = 1 << 11, /* slab_bytes: of every zombie */
	CENSUS_SWAP_SUM = 1 << 12, /* swap_bytes: of every zombie */
	/* dying, bytes, groups are of one part of the host; tracked and live are of all of it */
	CENSUS_PART = 1 << 16,
	CENSUS_HOST_DYING = 1 << 17, /* with CENSUS_PART: host_dying is known */
	CENSUS_COUNT_KNOWN = CENSUS_TRACKED | CENSUS_LIVE | CENSUS_DYING,
};

enum census_method {
	CENSUS_BY_NOTHING,
	CENSUS_BY_BPF,
	CENSUS_BY_PROC_CGROUPS,
	CENSUS_BY_CGROUP_STAT,
};

struct census_group {
	const char *owner;                  /* owner_group() */
	const char *unit;                   /* NULL = none, or different ones */
	const char *container, *pod, *task; /* likewise; the pod's uid as Kubernetes prints it */
	const char *parent;
	enum owner_kind kind;
	uint64_t count, bytes;
	uint64_t first_serial, last_serial;
};

struct census_pin_sum {
	uint64_t zombies, bytes;
};

/* One of the largest zombies, by name. */
struct census_name {
	char *path; /* owned */
	uint64_t id, serial, bytes, file_bytes;
};

enum { CENSUS_MOST_GROUPS = 4096, CENSUS_MOST_NAMES = 64 };

struct census_summary {
	uint64_t have;
	uint64_t time_ns;
	enum census_method method;
	uint64_t tracked, live, dying;
	uint64_t host_dying;   /* of the whole host, where the others are of a part; not recorded */
	uint64_t kernel_count; /* tracked (v1) or dying (v2) as the kernel's file says */
	bool kernel_counts_dying;
	uint64_t bytes, file_bytes, anon_bytes, shmem_bytes, slab_bytes, swap_bytes,
		unevictable_bytes;
	uint64_t max_serial;
	uint64_t empty;           /* zombies without a page: held by references only */
	uint64_t percpu_bytes;    /* of the host */
	uint64_t slab_host_bytes; /* of the host, what reclaim cannot free */
	uint64_t other_groups;    /* zombies whose group did not fit into the table */
	struct census_pin_sum by_pin[PIN_KIND_END];
	VEC(struct census_group) groups;             /* largest first after census_summary_finish */
	struct census_name names[CENSUS_MOST_NAMES]; /* largest first after census_summary_finish */
	size_t n_names;
	struct map_str by_owner;
	size_t last; /* the group that was counted last */
	struct buf scratch;
	struct arena strings;
};

/* What of a census a trend is computed from. */
struct census_point {
	uint64_t time_ns, dying;
	uint64_t percpu_bytes, slab_bytes; /* of the host; 0 = not known */
};

/* false when out of memory. */
bool census_summary_add(struct census_summary *s, const struct zombie *z);
void census_summary_finish(struct census_summary *s);
void census_summary_free(struct census_summary *s);
const char *census_method_name(enum census_method method);

/* At most `most` groups go into a frame; the rest is summed as other_groups. */
void census_summary_encode(struct buf *out, const struct census_summary *s, size_t most);
/* -EBADMSG when the bytes are none. *ret must be zeroed; free it. */
int census_summary_decode(const void *bytes, size_t len, struct census_summary *ret);

#define AUTO_CENSUS_SUMMARY __attribute__((cleanup(census_summary_free)))

/* When cgroups were made and removed, and by whom: from the events of a watch or from a recording.
 * And for zombies that nobody saw, between which two looks they were made: the kernel numbers
 * cgroups in the order of their creation, and every recorded census knows the newest number. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "map.h"
#include "vec.h"
#include "zombie.h"

struct churn_event;

struct cgroup_life {
	uint64_t id;
	uint64_t created_ns, died_ns;  /* wall clock; 0 = not seen */
	struct zombie_creator creator; /* pid 0 = not known */
};

/* At seen_from..seen_to every cgroup up to `serial` had been made, and none after it. */
struct cgroup_serial {
	uint64_t seen_from_ns, seen_to_ns, serial;
};

struct cgroup_lives {
	VEC(struct cgroup_life) list;
	struct map_u64 by_id;              /* id → index + 1 */
	VEC(struct cgroup_serial) serials; /* in time order */
	struct map_str names;              /* of creators' cgroups: each once in `strings` */
	struct arena strings;
	uint64_t dropped; /* lives that did not fit */
};

enum { CGROUP_LIVES_MOST = 100000 };

/* real_minus_mono: what makes wall-clock time of the event's. false when out of memory. */
bool cgroup_lives_event(struct cgroup_lives *l, const struct churn_event *e,
			uint64_t real_minus_mono);
bool cgroup_lives_add(struct cgroup_lives *l, const struct cgroup_life *life);
bool cgroup_lives_add_serial(struct cgroup_lives *l, uint64_t seen_from_ns, uint64_t seen_to_ns,
			     uint64_t serial);
const struct cgroup_life *cgroup_lives_get(const struct cgroup_lives *l, uint64_t id);
void cgroup_lives_remove(struct cgroup_lives *l, uint64_t id);
/* Fills created, died, creator, or the bounds of created. */
void cgroup_lives_date(const struct cgroup_lives *l, struct zombie *z);
void cgroup_lives_free(struct cgroup_lives *l);

#define AUTO_CGROUP_LIVES __attribute__((cleanup(cgroup_lives_free)))

#include "cgroup_lives.h"

#include <string.h>

#include "churn_summary.h"
#include "text.h"

static const char *keep_name(struct cgroup_lives *l, const char *name)
{
	bool made;

	if (!name || !*name)
		return NULL;
	uint64_t *at = map_str_put(&l->names, name, strlen(name), &made);
	if (!at)
		return NULL;
	if (made)
		*at = (uint64_t)(uintptr_t)arena_strdup(&l->strings, name);
	return (const char *)(uintptr_t)*at;
}

/* NULL when it cannot be kept; *ok tells whether memory was the reason. */
static struct cgroup_life *life_of(struct cgroup_lives *l, uint64_t id, bool *ok)
{
	bool made;

	*ok = true;
	if (!id)
		return NULL;
	const uint64_t *known = map_u64_get(&l->by_id, id);
	if (known)
		return &l->list.items[*known - 1];
	if (l->list.len >= CGROUP_LIVES_MOST) {
		l->dropped++;
		return NULL;
	}
	*ok = vec_push(&l->list, (struct cgroup_life){ .id = id });
	uint64_t *at = *ok ? map_u64_put(&l->by_id, id, &made) : NULL;
	if (!at) {
		l->list.len -= *ok;
		*ok = false;
		return NULL;
	}
	*at = l->list.len;
	return &l->list.items[l->list.len - 1];
}

bool cgroup_lives_event(struct cgroup_lives *l, const struct churn_event *e,
			uint64_t real_minus_mono)
{
	bool ok;

	if (e->what == CHURN_RELEASED) {
		cgroup_lives_remove(l, e->id);
		return true;
	}
	if (e->what == CHURN_ATTACHED)
		return true;
	struct cgroup_life *life = life_of(l, e->id, &ok);
	if (!life)
		return ok;
	if (e->what == CHURN_REMOVED) {
		life->died_ns = e->mono_ns + real_minus_mono;
		return true;
	}
	life->created_ns = e->mono_ns + real_minus_mono;
	life->creator = (struct zombie_creator){ .pid = e->pid, .ppid = e->ppid };
	text_copy(life->creator.parent_comm, sizeof(life->creator.parent_comm),
		  e->parent_comm ? e->parent_comm : "");
	text_copy(life->creator.comm, sizeof(life->creator.comm), e->comm ? e->comm : "");
	life->creator.cgroup = keep_name(l, e->own_cgroup);
	return true;
}

bool cgroup_lives_add(struct cgroup_lives *l, const struct cgroup_life *from)
{
	bool ok;
	struct cgroup_life *life = life_of(l, from->id, &ok);

	if (!life)
		return ok;
	if (from->created_ns)
		life->created_ns = from->created_ns;
	if (from->died_ns)
		life->died_ns = from->died_ns;
	if (from->creator.pid) {
		life->creator = from->creator;
		life->creator.cgroup = keep_name(l, from->creator.cgroup);
	}
	return true;
}

bool cgroup_lives_add_serial(struct cgroup_lives *l, uint64_t seen_from_ns, uint64_t seen_to_ns,
			     uint64_t serial)
{
	struct cgroup_serial s = { seen_from_ns, seen_to_ns, serial };

	/* only what grows says something */
	if (!serial || (l->serials.len && serial < l->serials.items[l->serials.len - 1].serial))
		return true;
	return vec_push(&l->serials, s);
}

const struct cgroup_life *cgroup_lives_get(const struct cgroup_lives *l, uint64_t id)
{
	const uint64_t *at = id ? map_u64_get(&l->by_id, id) : NULL;
	return at ? &l->list.items[*at - 1] : NULL;
}

void cgroup_lives_remove(struct cgroup_lives *l, uint64_t id)
{
	const uint64_t *at = id ? map_u64_get(&l->by_id, id) : NULL;

	if (!at)
		return;
	size_t hole = *at - 1;
	map_u64_remove(&l->by_id, id);
	struct cgroup_life last = l->list.items[--l->list.len];
	if (last.id == id)
		return;
	l->list.items[hole] = last;
	uint64_t *moved = map_u64_get(&l->by_id, last.id);
	if (moved)
		*moved = hole + 1;
}

/* The looks around its creation. */
static void date_by_serial(const struct cgroup_lives *l, struct zombie *z)
{
	size_t lo = 0, hi = l->serials.len;

	while (lo < hi) { /* the first look that could have seen it */
		size_t mid = lo + (hi - lo) / 2;
		if (l->serials.items[mid].serial < z->serial)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo > 0) {
		z->created_after_ns = l->serials.items[lo - 1].seen_from_ns;
		z->have |= ZOMBIE_CREATED_AFTER;
	}
	if (lo < l->serials.len) {
		z->created_before_ns = l->serials.items[lo].seen_to_ns;
		z->have |= ZOMBIE_CREATED_BEFORE;
	}
}

void cgroup_lives_date(const struct cgroup_lives *l, struct zombie *z)
{
	const struct cgroup_life *life = cgroup_lives_get(l, z->id);

	if (life && life->created_ns) {
		z->created_ns = life->created_ns;
		z->have |= ZOMBIE_CREATED;
	}
	if (life && life->died_ns) {
		z->died_ns = life->died_ns;
		z->have |= ZOMBIE_DIED;
	}
	if (life && life->creator.pid)
		z->creator = &life->creator;
	if (!(z->have & ZOMBIE_CREATED))
		date_by_serial(l, z);
}

void cgroup_lives_free(struct cgroup_lives *l)
{
	vec_free(&l->list);
	vec_free(&l->serials);
	map_u64_free(&l->by_id);
	map_str_free(&l->names);
	arena_free(&l->strings);
}

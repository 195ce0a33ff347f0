#include "churn_summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "wire.h"

enum { CHURN_MOST_RECENT = 1024 };

static struct churn_group *group_of(struct churn_summary *s, const char *path)
{
	AUTO_BUF struct buf text = { 0 };
	struct owner o;
	bool made;

	owner_parse(path, strlen(path), &o);
	owner_group(&text, &o);
	if (s->groups.len >= CHURN_MOST_GROUPS &&
	    !map_str_get(&s->by_owner, buf_str(&text), text.len))
		return NULL;
	uint64_t *at = map_str_put(&s->by_owner, buf_str(&text), text.len, &made);
	if (!at)
		return NULL;
	if (made) {
		struct churn_group g = {
			.owner = arena_strndup(&s->strings, buf_str(&text), text.len),
			.parent = arena_strndup(&s->strings, o.parent.at, o.parent.len),
			.kind = o.kind,
		};
		if (o.unit.at)
			g.unit = arena_strndup(&s->strings, o.unit.at, o.unit.len);
		*at = s->groups.len;
		if (!g.owner || !g.parent || !vec_push(&s->groups, g))
			return NULL;
	}
	return &s->groups.items[*at];
}

static const char *keep(struct churn_summary *s, const char *old, const char *text)
{
	if (!text || !*text || (old && strcmp(old, text) == 0))
		return old;
	return arena_strdup(&s->strings, text);
}

static void open_time(struct map_u64 *times, uint64_t id, uint64_t ns)
{
	bool made;

	if (!id || times->len >= CHURN_MOST_OPEN)
		return;
	uint64_t *at = map_u64_put(times, id, &made);
	if (at)
		*at = ns;
}

/* The time since it was opened is added to *sum. */
static void close_time(struct map_u64 *times, uint64_t id, uint64_t ns, uint64_t *sum, uint64_t *n)
{
	const uint64_t *at = id ? map_u64_get(times, id) : NULL;

	if (!at)
		return;
	if (ns > *at) {
		*sum += ns - *at;
		(*n)++;
	}
	map_u64_remove(times, id);
}

/* Removals in the order in which they came; those that are old go when there are many. */
static void note_removal(struct churn_summary *s, const struct churn_group *g,
			 const struct churn_event *e)
{
	struct churn_removal r = { .id = e->id,
				   .mono_ns = e->mono_ns,
				   .group = (size_t)(g - s->groups.items) };
	size_t old = 0;

	if (!e->id)
		return;
	if (s->recent.len >= CHURN_MOST_RECENT) {
		while (old < s->recent.len &&
		       s->recent.items[old].mono_ns + CHURN_YOUNG_NS < e->mono_ns)
			old++;
		s->recent.len -= old;
		memmove(s->recent.items, s->recent.items + old, s->recent.len * sizeof(r));
	}
	if (s->recent.len < CHURN_MOST_OPEN)
		(void)vec_push(&s->recent, r);
}

void churn_summary_young(struct churn_summary *s, uint64_t mono_ns)
{
	vec_foreach (&s->groups, g)
		g->young = 0;
	vec_foreach (&s->recent, r)
		if (r->mono_ns + CHURN_YOUNG_NS > mono_ns && map_u64_get(&s->removed_at, r->id) &&
		    r->group < s->groups.len)
			s->groups.items[r->group].young++;
}

bool churn_summary_add(struct churn_summary *s, const struct churn_event *e)
{
	struct churn_group *g = group_of(s, e->path);

	if (!g) {
		s->lost++;
		return s->groups.len >= CHURN_MOST_GROUPS;
	}
	switch (e->what) {
	case CHURN_MADE:
		g->made++;
		g->creator = keep(s, g->creator, e->comm);
		g->creator_cgroup = keep(s, g->creator_cgroup, e->own_cgroup);
		g->creator_parent = keep(s, g->creator_parent, e->parent_comm);
		g->pid = e->pid;
		g->ppid = e->ppid;
		open_time(&s->made_at, e->id, e->mono_ns);
		break;
	case CHURN_REMOVED:
		g->removed++;
		close_time(&s->made_at, e->id, e->mono_ns, &g->lifetime_ns, &g->lifetimes);
		open_time(&s->removed_at, e->id, e->mono_ns);
		note_removal(s, g, e);
		break;
	case CHURN_RELEASED:
		g->released++;
		close_time(&s->removed_at, e->id, e->mono_ns, &g->zombie_ns, &g->zombies);
		break;
	case CHURN_ATTACHED:
		g->attached++;
		break;
	}
	return true;
}

static struct churn_group *group_like(struct churn_summary *s, const struct churn_group *g)
{
	bool made;

	if (s->groups.len >= CHURN_MOST_GROUPS &&
	    !map_str_get(&s->by_owner, g->owner, strlen(g->owner)))
		return NULL;
	uint64_t *at = map_str_put(&s->by_owner, g->owner, strlen(g->owner), &made);
	if (!at)
		return NULL;
	if (made) {
		struct churn_group fresh = {
			.owner = arena_strdup(&s->strings, g->owner),
			.parent = arena_strdup(&s->strings, g->parent),
			.unit = keep(s, NULL, g->unit),
			.kind = g->kind,
		};
		*at = s->groups.len;
		if (!fresh.owner || !fresh.parent || !vec_push(&s->groups, fresh))
			return NULL;
	}
	return &s->groups.items[*at];
}

bool churn_summary_merge(struct churn_summary *s, const struct churn_summary *from)
{
	s->from_ns = s->from_ns && s->from_ns < from->from_ns ? s->from_ns : from->from_ns;
	s->to_ns = s->to_ns > from->to_ns ? s->to_ns : from->to_ns;
	s->lost += from->lost;
	s->creators_known |= from->creators_known;
	vec_foreach (&s->groups, g) /* what was young at the end of the stretch before is not now */
		g->young = 0;
	vec_foreach (&from->groups, g) {
		struct churn_group *sum = group_like(s, g);
		if (!sum && s->groups.len < CHURN_MOST_GROUPS)
			return false;
		if (!sum) {
			s->lost++;
			continue;
		}
		sum->made += g->made;
		sum->removed += g->removed;
		sum->released += g->released;
		sum->attached += g->attached;
		sum->young = g->young; /* of its end */
		sum->lifetime_ns += g->lifetime_ns;
		sum->lifetimes += g->lifetimes;
		sum->zombie_ns += g->zombie_ns;
		sum->zombies += g->zombies;
		sum->creator = keep(s, sum->creator, g->creator);
		sum->creator_cgroup = keep(s, sum->creator_cgroup, g->creator_cgroup);
		sum->creator_parent = keep(s, sum->creator_parent, g->creator_parent);
		sum->ppid = g->pid ? g->ppid : sum->ppid;
		sum->pid = g->pid ? g->pid : sum->pid;
	}
	return true;
}

void churn_summary_clear(struct churn_summary *s)
{
	s->groups.len = 0;
	s->recent.len = 0;
	s->zombies.len = 0;
	s->zombies_left_out = 0;
	s->lost = 0;
	map_str_free(&s->by_owner);
	s->by_owner = (struct map_str){ 0 };
	arena_free(&s->strings);
	s->strings = (struct arena){ 0 };
}

void churn_summary_free(struct churn_summary *s)
{
	vec_free(&s->groups);
	vec_free(&s->recent);
	vec_free(&s->zombies);
	map_str_free(&s->by_owner);
	map_u64_free(&s->made_at);
	map_u64_free(&s->removed_at);
	arena_free(&s->strings);
}

uint64_t churn_group_left(const struct churn_group *g)
{
	uint64_t gone = g->released + g->young;

	return g->removed > gone ? g->removed - gone : 0;
}

static int most_left_first(const void *a, const void *b)
{
	const struct churn_group *x = a, *y = b;
	uint64_t left = churn_group_left(x), other = churn_group_left(y);

	if (left != other)
		return left > other ? -1 : 1;
	if (x->made != y->made)
		return x->made > y->made ? -1 : 1;
	if (x->removed != y->removed)
		return x->removed > y->removed ? -1 : 1;
	return strcmp(x->owner, y->owner);
}

void churn_summary_sort(struct churn_summary *s)
{
	vec_sort(&s->groups, most_left_first);
	map_str_free(&s->by_owner); /* its indexes are stale now */
	s->by_owner = (struct map_str){ 0 };
}

static void put_str(struct buf *out, const char *text)
{
	wire_put_bytes(out, text ? text : "", text ? strlen(text) : 0);
}

static size_t kept_zombies(const struct churn_summary *s)
{
	return s->zombies.len < CHURN_MOST_ZOMBIES ? s->zombies.len : CHURN_MOST_ZOMBIES;
}

/* Behind the groups; recordings before this end there. */
static void encode_zombies(struct buf *out, const struct churn_summary *s)
{
	size_t n = kept_zombies(s);

	wire_put_u64(out, n);
	wire_put_u64(out, s->zombies_left_out + s->zombies.len - n);
	for (size_t i = 0; i < n; i++) {
		const struct cgroup_life *z = &s->zombies.items[i];
		wire_put_u64(out, z->id);
		wire_put_u64(out, z->created_ns);
		wire_put_u64(out, z->died_ns);
		wire_put_u64(out, (uint64_t)z->creator.pid);
		put_str(out, z->creator.comm);
		put_str(out, z->creator.cgroup);
	}
}

/* The creators' parents, behind all of these. */
static void encode_parents(struct buf *out, const struct churn_summary *s, size_t groups)
{
	for (size_t i = 0; i < groups; i++) {
		wire_put_u64(out, (uint64_t)s->groups.items[i].ppid);
		put_str(out, s->groups.items[i].creator_parent);
	}
	for (size_t i = 0; i < kept_zombies(s); i++) {
		wire_put_u64(out, (uint64_t)s->zombies.items[i].creator.ppid);
		put_str(out, s->zombies.items[i].creator.parent_comm);
	}
}

void churn_summary_encode(struct buf *out, const struct churn_summary *s, size_t most)
{
	size_t n = s->groups.len < most ? s->groups.len : most;

	wire_put_u64(out, s->from_ns);
	wire_put_u64(out, s->to_ns);
	wire_put_u64(out, s->lost);
	wire_put_u64(out, s->creators_known);
	wire_put_u64(out, n);
	for (size_t i = 0; i < n; i++) {
		const struct churn_group *g = &s->groups.items[i];
		const uint64_t numbers[] = { g->kind,         g->made,      g->removed,
					     g->released,     g->attached,  g->lifetime_ns,
					     g->lifetimes,    g->zombie_ns, g->zombies,
					     (uint64_t)g->pid };
		for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
			wire_put_u64(out, numbers[k]);
		put_str(out, g->owner);
		put_str(out, g->parent);
		put_str(out, g->unit);
		put_str(out, g->creator);
		put_str(out, g->creator_cgroup);
	}
	/* added later: behind what older versions read */
	for (size_t i = 0; i < n; i++)
		wire_put_u64(out, s->groups.items[i].young);
	encode_zombies(out, s);
	encode_parents(out, s, n);
}

/* "" stands for absent. */
static const char *get_str(struct wire_reader *r, struct arena *strings)
{
	size_t len;
	const char *bytes = wire_get_bytes(r, &len);

	return bytes && len && *bytes ? arena_strndup(strings, bytes, len) : NULL;
}

static int decode_zombies(struct wire_reader *r, struct churn_summary *ret)
{
	if (r->at == r->end)
		return 0;
	uint64_t n = wire_get_u64(r);
	ret->zombies_left_out = wire_get_u64(r);
	if (r->failed || n > CHURN_MOST_ZOMBIES)
		return -EBADMSG;
	for (uint64_t i = 0; i < n; i++) {
		struct cgroup_life z = { .id = wire_get_u64(r) };
		z.created_ns = wire_get_u64(r);
		z.died_ns = wire_get_u64(r);
		z.creator.pid = (int)wire_get_u64(r);
		const char *comm = get_str(r, &ret->strings);
		z.creator.cgroup = get_str(r, &ret->strings);
		if (r->failed)
			return -EBADMSG;
		text_copy(z.creator.comm, sizeof(z.creator.comm), comm ? comm : "");
		if (!vec_push(&ret->zombies, z))
			return -ENOMEM;
	}
	return 0;
}

static int decode_parents(struct wire_reader *r, struct churn_summary *ret)
{
	if (r->at == r->end)
		return 0; /* of an older version */
	vec_foreach (&ret->groups, g) {
		g->ppid = (int)wire_get_u64(r);
		g->creator_parent = get_str(r, &ret->strings);
	}
	vec_foreach (&ret->zombies, z) {
		z->creator.ppid = (int)wire_get_u64(r);
		const char *comm = get_str(r, &ret->strings);
		text_copy(z->creator.parent_comm, sizeof(z->creator.parent_comm), comm ? comm : "");
	}
	return r->failed ? -EBADMSG : 0;
}

int churn_summary_decode(const void *bytes, size_t len, struct churn_summary *ret)
{
	struct wire_reader r;

	wire_open(&r, bytes, len);
	ret->from_ns = wire_get_u64(&r);
	ret->to_ns = wire_get_u64(&r);
	ret->lost = wire_get_u64(&r);
	ret->creators_known = wire_get_u64(&r);
	uint64_t n = wire_get_u64(&r);
	if (r.failed || n > CHURN_MOST_GROUPS)
		return -EBADMSG;
	for (uint64_t i = 0; i < n; i++) {
		struct churn_group g = { .kind = wire_get_u64(&r) };
		uint64_t *numbers[] = { &g.made,        &g.removed,   &g.released,  &g.attached,
					&g.lifetime_ns, &g.lifetimes, &g.zombie_ns, &g.zombies };
		for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
			*numbers[k] = wire_get_u64(&r);
		g.pid = (int)wire_get_u64(&r);
		g.owner = get_str(&r, &ret->strings);
		g.parent = get_str(&r, &ret->strings);
		g.unit = get_str(&r, &ret->strings);
		g.creator = get_str(&r, &ret->strings);
		g.creator_cgroup = get_str(&r, &ret->strings);
		if (r.failed || !g.owner || !g.parent || g.kind >= OWNER_KIND_END)
			return -EBADMSG;
		if (!vec_push(&ret->groups, g))
			return -ENOMEM;
	}
	if (r.at == r.end)
		return 0; /* of an older version */
	vec_foreach (&ret->groups, g)
		g->young = wire_get_u64(&r);
	int e = r.failed ? -EBADMSG : decode_zombies(&r, ret);
	return e < 0 ? e : decode_parents(&r, ret);
}

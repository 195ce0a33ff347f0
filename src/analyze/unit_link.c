#include "unit_link.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "journal.h"
#include "map.h"
#include "owner.h"
#include "text.h"
#include "timefmt.h"

const struct loop_limits loop_limits = {
	.creates = 3,
	.image_creates = 5,
	.restarts = 3,
	.quiet_cadences = 4,
	.quiet_ns = 30 * NS_PER_S,
};

enum { LOOP_TIMES = 64 };

struct loop_times {
	uint64_t at[LOOP_TIMES]; /* ascending, the last ones */
	size_t n;
};

/* Of one name: when containers were created, and when the youngest of them died. */
struct loop_life {
	struct loop_times creates, deaths;
	uint64_t n_deaths, first_death_ns;
	const char *died; /* whose deaths they are */
};

struct loop_build {
	struct container_loops *ret;
	struct map_str by_key; /* runtime + name, or runtime + image → 1 + index */
	VEC(struct loop_life) lives;
};

static struct container_loop *loop_of(struct loop_build *b, const struct rec_container_event *e,
				      bool by_image)
{
	AUTO_BUF struct buf key = { 0 };
	bool is_new;

	buf_addf(&key, "%s%c%s", e->runtime, by_image ? '=' : '/', by_image ? e->image : e->name);
	uint64_t *at = map_str_put(&b->by_key, buf_str(&key), key.len, &is_new);
	if (!at)
		return NULL;
	if (is_new) {
		struct container_loop loop = { .runtime = e->runtime,
					       .name = by_image ? NULL : e->name,
					       .image = e->image,
					       .exit_code = -1,
					       .proof = LINK_NONE };
		if (!vec_push(&b->ret->list, loop) || !vec_push(&b->lives, (struct loop_life){ 0 }))
			return NULL;
		*at = b->ret->list.len;
	}
	return *at ? &b->ret->list.items[*at - 1] : NULL;
}

static void loop_time(struct loop_times *t, uint64_t time_ns)
{
	if (t->n == LOOP_TIMES)
		memmove(t->at, t->at + 1, (--t->n) * sizeof(t->at[0]));
	t->at[t->n++] = time_ns;
}

static void loop_add(struct loop_build *b, struct container_loop *loop,
		     const struct rec_container_event *e)
{
	struct loop_life *life = &b->lives.items[loop - b->ret->list.items];

	if (e->action == CONTAINER_DIE) {
		if (e->exit_code >= 0)
			loop->exit_code = e->exit_code;
		if (!life->died || strcmp(life->died, e->id) != 0) {
			life->died = e->id;
			life->deaths.n = life->n_deaths = 0;
			life->first_death_ns = e->time_ns;
		}
		life->n_deaths++;
		loop_time(&life->deaths, e->time_ns);
	}
	if (e->action != CONTAINER_CREATE || (loop->last_id && strcmp(loop->last_id, e->id) == 0))
		return;
	loop->creates++;
	loop->first_ns = loop->first_ns ? loop->first_ns : e->time_ns;
	loop->last_ns = e->time_ns;
	loop->last_id = e->id;
	loop->image = e->image ? e->image : loop->image;
	loop_time(&life->creates, e->time_ns);
}

static void loop_judge(struct container_loop *loop, const struct loop_times *t, uint64_t now_ns)
{
	size_t most = MIN_OF(t->n, (size_t)32);

	if (t->n > 1)
		loop->cadence_ns = journal_cadence(t->at + (t->n - most), most);
	if (loop->cadence_ns)
		loop->per_min = 60e9 / (double)loop->cadence_ns;
	uint64_t quiet = (uint64_t)((double)loop->cadence_ns * loop_limits.quiet_cadences);
	loop->looping = loop->last_ns + MAX_OF(quiet, loop_limits.quiet_ns) >= now_ns;
}

/* A container that died often without being created anew, unless someone stops and starts it: the
 * engine counts only the restarts of its own policy. */
static void loop_take_deaths(struct container_loop *loop, const struct loop_life *life,
			     const struct rec_unit_set *set)
{
	if (!loop->name || life->n_deaths < loop_limits.restarts)
		return; /* one that is created anew each time dies once */
	vec_foreach (&set->containers, c) {
		if (strcmp(c->id, life->died) != 0 ||
		    c->restart_count < (int64_t)loop_limits.restarts)
			continue;
		loop->in_place = true;
		loop->restarts = MAX_OF((uint64_t)c->restart_count, life->n_deaths);
		loop->first_ns = c->created_ns ? c->created_ns : life->first_death_ns;
		loop->last_ns = life->deaths.at[life->deaths.n - 1];
		loop->last_id = c->id;
		loop->image = c->image ? c->image : loop->image;
	}
}

/* The engine remembers 256 events: on a busy one only the counter tells. */
static int loop_by_counter(struct loop_build *b, const struct rec_unit_set *set, uint64_t now_ns)
{
	vec_foreach (&set->containers, c) {
		bool restarting = c->state && strcmp(c->state, "restarting") == 0;
		bool told = false;
		if (c->restart_count < (int64_t)loop_limits.restarts || !c->started_ns ||
		    c->started_ns <= c->created_ns || !c->name)
			continue;
		uint64_t cadence = (c->started_ns - c->created_ns) / (uint64_t)c->restart_count;
		vec_foreach (&b->ret->list, loop)
			told |= loop->in_place && loop->last_id &&
				strcmp(loop->last_id, c->id) == 0;
		struct container_loop loop = { .runtime = c->runtime,
					       .name = c->name,
					       .image = c->image,
					       .in_place = true,
					       .restarts = (uint64_t)c->restart_count,
					       .first_ns = c->created_ns,
					       .last_ns = restarting ? now_ns : c->started_ns,
					       .cadence_ns = cadence,
					       /* of one that runs it is always 0 */
					       .exit_code = restarting ? c->exit_code : -1,
					       .last_id = c->id,
					       .proof = LINK_NONE };
		loop_judge(&loop, &(struct loop_times){ 0 }, now_ns);
		if (!told && loop.looping && !vec_push(&b->ret->list, loop))
			return -ENOMEM;
	}
	return 0;
}

/* Names that appear but once belong to the image's group, the others to their own. */
static bool loop_is_one(const struct container_loop *loop)
{
	if (loop->in_place)
		return true;
	return loop->name ? loop->creates >= loop_limits.creates
			  : loop->creates >= loop_limits.image_creates;
}

int container_loops_find(const struct rec_unit_set *set, uint64_t now_ns,
			 struct container_loops *ret)
{
	struct loop_build b = { .ret = ret };
	int r = 0;

	for (int by_image = 0; by_image < 2 && r == 0; by_image++) {
		vec_foreach (&set->events, e) {
			if (!(by_image ? e->image : e->name))
				continue;
			struct container_loop *loop;
			if (by_image) {
				AUTO_BUF struct buf key = { 0 };
				buf_addf(&key, "%s/%s", e->runtime, e->name ? e->name : "");
				const uint64_t *own =
					map_str_get(&b.by_key, buf_str(&key), key.len);
				/* a name that loops by itself is told there */
				if (own && loop_is_one(&ret->list.items[*own - 1]))
					continue;
			}
			loop = loop_of(&b, e, by_image);
			if (!loop) {
				r = -ENOMEM;
				break;
			}
			loop_add(&b, loop, e);
		}
	}
	size_t kept = 0;
	for (size_t i = 0; i < ret->list.len; i++) {
		struct container_loop *loop = &ret->list.items[i];
		loop_take_deaths(loop, &b.lives.items[i], set);
		if (!loop_is_one(loop))
			continue;
		loop_judge(loop,
			   loop->in_place ? &b.lives.items[i].deaths : &b.lives.items[i].creates,
			   now_ns);
		ret->list.items[kept++] = *loop;
	}
	ret->list.len = kept;
	if (r == 0)
		r = loop_by_counter(&b, set, now_ns);
	vec_free(&b.lives);
	map_str_free(&b.by_key);
	return r;
}

const char *link_proof_name(enum link_proof proof)
{
	static const char *const names[] = {
		[LINK_LABEL] = "label",    [LINK_PEER] = "socket peer",
		[LINK_EXEC] = "ExecStart", [LINK_KNOWLEDGE] = "knowledge base",
		[LINK_TIME] = "time",      [LINK_NONE] = "none",
	};
	return names[MIN_OF((unsigned)proof, (unsigned)LINK_NONE)];
}

static bool link_word_char(char c)
{
	return isalnum((unsigned char)c) || strchr("._-/:@", c);
}

/* needle as a whole word of text */
static bool link_has_word(const char *text, const char *needle)
{
	size_t n = strlen(needle);

	for (const char *p = n ? strstr(text, needle) : NULL; p; p = strstr(p + 1, needle))
		if ((p == text || !link_word_char(p[-1])) && (!p[n] || !link_word_char(p[n])))
			return true;
	return false;
}

bool link_exec_names(const char *exec, const char *name, const char *image)
{
	if (!strstr(exec, "docker") && !strstr(exec, "podman") && !strstr(exec, "nerdctl"))
		return false;
	return (name && link_has_word(exec, name)) || (image && link_has_word(exec, image));
}

static bool link_is_engine(const char *unit)
{
	static const char *const engines[] = { "docker.service", "containerd.service",
					       "podman.service", "crio.service" };

	for (size_t i = 0; i < ARRAY_LEN(engines); i++)
		if (strcmp(unit, engines[i]) == 0)
			return true;
	return false;
}

static void link_set(struct container_loops *all, struct container_loop *loop, const char *unit,
		     enum link_proof proof, const char *text)
{
	if (loop->unit && strcmp(loop->unit, unit) != 0 && loop->proof <= proof)
		return; /* a stronger proof names another unit */
	if (!loop->unit || strcmp(loop->unit, unit) != 0)
		loop->proofs = 0;
	if (!loop->unit || proof < loop->proof || strcmp(loop->unit, unit) != 0) {
		loop->unit = arena_strdup(&all->arena, unit);
		loop->proof = proof;
		loop->proof_text = text;
	}
	loop->proofs |= UINT64_C(1) << proof;
}

static void link_by_exec(struct container_loops *all, struct container_loop *loop,
			 const struct rec_unit_set *set)
{
	vec_foreach (&set->units, u)
		if (u->exec_start && !link_is_engine(u->name) &&
		    link_exec_names(u->exec_start, loop->name, loop->image))
			link_set(all, loop, u->name, LINK_EXEC,
				 arena_printf(&all->arena, "systemctl show %s -p ExecStart",
					      u->name));
}

static void link_by_peer(struct container_loops *all, struct container_loop *loop,
			 const struct rec_unit_set *set)
{
	const char *only = NULL;
	uint64_t pid = 0;

	vec_foreach (&set->clients, c) {
		struct owner owner;
		if (strcmp(c->runtime, loop->runtime) != 0)
			continue;
		owner_parse(c->cgroup, strlen(c->cgroup), &owner);
		if (!owner.unit.at || owner.kind != OWNER_UNIT)
			continue;
		const char *unit = arena_strndup(&all->arena, owner.unit.at, owner.unit.len);
		if (!unit || link_is_engine(unit))
			continue;
		const struct rec_service *u = rec_units_find(set, unit);
		bool named = u && u->exec_start &&
			     link_exec_names(u->exec_start, loop->name, loop->image);
		if (named || !only) {
			only = unit;
			pid = c->pid;
		} else if (strcmp(only, unit) != 0 && !named) {
			/* two units talk to the engine and neither names the container: no proof */
			if (!loop->unit)
				return;
		}
		if (named)
			break;
	}
	if (only)
		link_set(all, loop, only, LINK_PEER,
			 arena_printf(&all->arena,
				      "process %" PRIu64
				      " of %s is connected to the engine (sock_diag)",
				      pid, only));
}

static void link_by_knowledge(struct container_loops *all, struct container_loop *loop,
			      const struct rec_unit_set *set, const struct agents *agents)
{
	vec_foreach (&agents->list, a) {
		if (!loop->name || !*a->container || strcmp(a->container, loop->name) != 0)
			continue;
		const struct rec_service *u = rec_units_find(set, a->unit);
		if (u && (!u->active || strcmp(u->active, "inactive") != 0))
			link_set(all, loop, a->unit, LINK_KNOWLEDGE,
				 arena_printf(&all->arena, "knowledge base: %s makes container %s",
					      a->unit, a->container));
	}
}

static void link_by_time(struct container_loops *all, struct container_loop *loop,
			 const struct rec_unit_set *set)
{
	vec_foreach (&set->units, u) {
		/* two loops of like cadence are common: only many turns in step prove anything */
		if (!u->cadence_ns || !loop->cadence_ns || u->seen < 5 || loop->creates < 5)
			continue;
		double ratio = (double)u->cadence_ns / (double)loop->cadence_ns;
		uint64_t apart = u->last_ns > loop->last_ns ? u->last_ns - loop->last_ns
							    : loop->last_ns - u->last_ns;
		if (ratio > 0.97 && ratio < 1.03 && apart <= loop->cadence_ns / 4)
			link_set(all, loop, u->name, LINK_TIME,
				 arena_printf(&all->arena,
					      "restarts of %s and creates keep the same time",
					      u->name));
	}
}

void container_loops_link(struct container_loops *loops, const struct rec_unit_set *set,
			  const struct agents *agents)
{
	vec_foreach (&loops->list, loop) {
		vec_foreach (&set->containers, c) {
			if (!loop->last_id || strcmp(c->id, loop->last_id) != 0)
				continue;
			if (c->unit_label)
				link_set(loops, loop, c->unit_label, LINK_LABEL,
					 "label PODMAN_SYSTEMD_UNIT");
			if (c->cgroup_parent && *c->cgroup_parent)
				loop->cgroup_parent = c->cgroup_parent;
		}
		if (!loop->cgroup_parent)
			loop->cgroup_parent =
				strcmp(loop->runtime, "docker") == 0 ? "/docker" : NULL;
		link_by_time(loops, loop, set);
		link_by_knowledge(loops, loop, set, agents);
		link_by_exec(loops, loop, set);
		link_by_peer(loops, loop, set);
	}
}

void container_loops_free(struct container_loops *loops)
{
	vec_free(&loops->list);
	arena_free(&loops->arena);
}

#include "rec_units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "buf.h"
#include "wire.h"

enum { UNITS_VERSION = 2, UNITS_MOST = 100000, CLD_EXIT = 1, CLD_KILL = 2, CLD_DUMP = 3 };

struct rec_service *rec_units_find(const struct rec_unit_set *s, const char *name)
{
	vec_foreach (&s->units, u)
		if (strcmp(u->name, name) == 0)
			return u;
	return NULL;
}

struct rec_service *rec_units_add(struct rec_unit_set *s, const char *name)
{
	struct rec_service unit = { .name = arena_strdup(&s->arena, name) };

	if (!unit.name || s->units.len >= UNITS_MOST || !vec_push(&s->units, unit))
		return NULL;
	return &s->units.items[s->units.len - 1];
}

static const char *const action_names[] = {
	[CONTAINER_CREATE] = "create",   [CONTAINER_START] = "start", [CONTAINER_DIE] = "die",
	[CONTAINER_DESTROY] = "destroy", [CONTAINER_OOM] = "oom",
};

const char *rec_container_action_name(enum rec_container_action action)
{
	return action < CONTAINER_ACTION_END ? action_names[action] : "unknown";
}

int rec_container_action_parse(const char *name, enum rec_container_action *ret)
{
	for (unsigned i = 0; i < CONTAINER_ACTION_END; i++) {
		if (strcmp(name, action_names[i]) == 0) {
			*ret = i;
			return 0;
		}
	}
	/* podman's words */
	if (strcmp(name, "died") == 0)
		*ret = CONTAINER_DIE;
	else if (strcmp(name, "remove") == 0)
		*ret = CONTAINER_DESTROY;
	else
		return -EINVAL;
	return 0;
}

bool rec_unit_exit_words(const struct rec_service *u, char *ret, size_t size)
{
	if (!(u->have & REC_UNIT_EXIT))
		return false;
	const char *signal = u->exit_status < 65 ? sigabbrev_np((int)u->exit_status) : NULL;
	if (u->exit_code == CLD_EXIT)
		snprintf(ret, size, "exit code %llu", (unsigned long long)u->exit_status);
	else if (u->exit_code == CLD_KILL || u->exit_code == CLD_DUMP)
		snprintf(ret, size, "%ssignal %llu%s%s%s",
			 u->exit_code == CLD_DUMP ? "core dump, " : "",
			 (unsigned long long)u->exit_status, signal ? " (" : "",
			 signal ? signal : "", signal ? ")" : "");
	else
		return false;
	return true;
}

void rec_units_free(struct rec_unit_set *s)
{
	vec_free(&s->units);
	vec_free(&s->containers);
	vec_free(&s->events);
	vec_free(&s->clients);
	unknowns_free(&s->unknowns);
	arena_free(&s->arena);
	*s = (struct rec_unit_set){ 0 };
}

static void units_put_str(struct buf *out, const char *text)
{
	wire_put_u64(out, text != NULL);
	if (text)
		wire_put_bytes(out, text, strlen(text));
}

static const char *units_get_str(struct wire_reader *r, struct arena *arena)
{
	size_t len;

	if (!wire_get_u64(r))
		return NULL;
	const char *bytes = wire_get_bytes(r, &len);
	const char *copy = bytes ? arena_strndup(arena, bytes, len) : NULL;
	if (!copy)
		r->failed = true;
	return copy;
}

/* One list for both directions, so that they cannot differ. */
#define UNIT_STRINGS(u)                                                                          \
	{                                                                                        \
		&(u)->name, &(u)->load, &(u)->active, &(u)->sub, &(u)->result, &(u)->file_state, \
			&(u)->preset, &(u)->restart, &(u)->type, &(u)->cgroup, &(u)->fragment,   \
			&(u)->invocation, &(u)->exec_start, &(u)->condition, &(u)->seen_source   \
	}
#define UNIT_NUMBERS(u)                                                                          \
	{                                                                                        \
		&(u)->have, &(u)->restarts, &(u)->restart_us, &(u)->limit_us, &(u)->limit_burst, \
			&(u)->exit_code, &(u)->exit_status, &(u)->started_ns, &(u)->exited_ns,   \
			&(u)->pid, &(u)->seen, &(u)->first_ns, &(u)->last_ns, &(u)->cadence_ns   \
	}
#define CONTAINER_STRINGS(c)                                                     \
	{                                                                        \
		&(c)->runtime, &(c)->id, &(c)->name, &(c)->image, &(c)->state,   \
			&(c)->cgroup_parent, &(c)->unit_label, &(c)->owner_label \
	}

void rec_units_encode(struct buf *out, const struct rec_unit_set *s)
{
	wire_put_u64(out, UNITS_VERSION);
	wire_put_u64(out, s->units.len);
	vec_foreach (&s->units, u) {
		const char *const *strings[] = UNIT_STRINGS(u);
		const uint64_t *numbers[] = UNIT_NUMBERS(u);
		for (size_t i = 0; i < ARRAY_LEN(strings); i++)
			units_put_str(out, *strings[i]);
		for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
			wire_put_u64(out, *numbers[i]);
	}
	wire_put_u64(out, s->containers.len);
	vec_foreach (&s->containers, c) {
		const char *const *strings[] = CONTAINER_STRINGS(c);
		for (size_t i = 0; i < ARRAY_LEN(strings); i++)
			units_put_str(out, *strings[i]);
		wire_put_u64(out, c->created_ns);
		wire_put_u64(out, c->started_ns);
		wire_put_u64(out, c->pid);
		wire_put_i64(out, c->exit_code);
		wire_put_i64(out, c->restart_count);
	}
	wire_put_u64(out, s->manager_start_ns);
	wire_put_u64(out, s->events.len);
	vec_foreach (&s->events, e) {
		wire_put_u64(out, e->time_ns);
		wire_put_u64(out, e->action);
		wire_put_i64(out, e->exit_code);
		units_put_str(out, e->runtime);
		units_put_str(out, e->id);
		units_put_str(out, e->name);
		units_put_str(out, e->image);
	}
}

static bool units_decode_event(struct wire_reader *r, struct rec_unit_set *s)
{
	struct rec_container_event e = { .time_ns = wire_get_u64(r) };
	uint64_t action = wire_get_u64(r);

	e.exit_code = wire_get_i64(r);
	e.runtime = units_get_str(r, &s->arena);
	e.id = units_get_str(r, &s->arena);
	e.name = units_get_str(r, &s->arena);
	e.image = units_get_str(r, &s->arena);
	e.action = (enum rec_container_action)action;
	return !r->failed && action < CONTAINER_ACTION_END && e.id && e.runtime &&
	       vec_push(&s->events, e);
}

static bool units_decode_unit(struct wire_reader *r, struct rec_unit_set *s)
{
	struct rec_service u = { 0 };
	const char **strings[] = UNIT_STRINGS(&u);
	uint64_t *numbers[] = UNIT_NUMBERS(&u);

	for (size_t i = 0; i < ARRAY_LEN(strings); i++)
		*strings[i] = units_get_str(r, &s->arena);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		*numbers[i] = wire_get_u64(r);
	return !r->failed && u.name && vec_push(&s->units, u);
}

static bool units_decode_container(struct wire_reader *r, struct rec_unit_set *s)
{
	struct rec_container c = { 0 };
	const char **strings[] = CONTAINER_STRINGS(&c);

	for (size_t i = 0; i < ARRAY_LEN(strings); i++)
		*strings[i] = units_get_str(r, &s->arena);
	c.created_ns = wire_get_u64(r);
	c.started_ns = wire_get_u64(r);
	c.pid = wire_get_u64(r);
	c.exit_code = wire_get_i64(r);
	c.restart_count = wire_get_i64(r);
	return !r->failed && c.id && vec_push(&s->containers, c);
}

int rec_units_decode(const void *bytes, size_t len, struct rec_unit_set *ret)
{
	struct wire_reader r;
	bool ok = true;

	*ret = (struct rec_unit_set){ 0 };
	wire_open(&r, bytes, len);
	ok = wire_get_u64(&r) == UNITS_VERSION;
	uint64_t n = wire_get_u64(&r);
	for (uint64_t i = 0; ok && i < n; i++)
		ok = i < UNITS_MOST && units_decode_unit(&r, ret);
	n = ok ? wire_get_u64(&r) : 0;
	for (uint64_t i = 0; ok && i < n; i++)
		ok = i < UNITS_MOST && units_decode_container(&r, ret);
	ret->manager_start_ns = ok ? wire_get_u64(&r) : 0;
	n = ok ? wire_get_u64(&r) : 0;
	for (uint64_t i = 0; ok && i < n; i++)
		ok = i < UNITS_MOST && units_decode_event(&r, ret);
	if (!ok || r.failed || r.at != r.end) {
		rec_units_free(ret);
		return -EBADMSG;
	}
	ret->have_units = ret->units.len > 0;
	ret->have_containers = true;
	return 0;
}

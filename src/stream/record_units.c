#include "record_units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "auto.h"
#include "docker_follow.h"
#include "frame.h"
#include "map.h"
#include "text.h"
#include "timefmt.h"
#include "units_dbus.h"

enum {
	UNITS_FRAME_VERSION = 1,
	UNITS_RETRY_TICKS = 10, /* a manager or engine that went away is asked again so often */
	UNITS_MOST_ENGINES = 3,
	UNITS_LOOP_QUIET_S = 5, /* so long after a restart, stops and starts are part of it */
};

/* What was last told of a unit: an announcement carries only what changed. */
struct watched {
	bool known;
	uint64_t restarts;
	bool have_exit;
	uint64_t exit_code, exit_status;
	uint64_t recorded; /* restarts since this recorder watches, over resets of the counter */
	uint64_t restarted_ns; /* CLOCK_MONOTONIC */
	bool failed_pending;   /* failed, and not yet told: a restart may follow at once */
	char name[256];
	char active[16];
	char result[24];
	char invocation[33]; /* of the activation that the counter was last seen in */
};

struct record_units_state {
	const struct root *root;
	int epoll;
	struct units_bus *bus;
	struct rec_unit_set *asked; /* a sweep on its way, after a connection in the middle */
	bool told_missing;
	char missing[200]; /* why the manager is not watched; told once */
	struct docker_follow engines[UNITS_MOST_ENGINES];
	struct map_str by_name; /* → 1 + index into watched */
	VEC(struct watched) watched;
	struct buf frame; /* FRAME_UNITS as of the last connection */
	struct store_writer *w;
	struct err *err;
	int r;
	unsigned ticks;
	unsigned pending; /* units with failed_pending */
};

static void units_put(struct record_units_state *s, struct rec_event *event)
{
	if (!s->w)
		return;
	event->end_ns = event->time_ns;
	event->count = 1;
	int r = recorder_put_event(s->w, event, s->err);
	if (r < 0)
		s->r = r;
}

static struct watched *units_watched(struct record_units_state *s, const char *name)
{
	bool is_new;
	uint64_t *at = map_str_put(&s->by_name, name, strlen(name), &is_new);

	if (!at || (is_new && !vec_push(&s->watched, (struct watched){ 0 })))
		return NULL;
	if (is_new) {
		*at = s->watched.len;
		text_copy(s->watched.items[*at - 1].name, sizeof(s->watched.items[0].name), name);
	}
	return *at ? &s->watched.items[*at - 1] : NULL;
}

static void units_put_change(struct record_units_state *s, const struct watched *w,
			     const char *unit, const char *id, enum event_severity severity,
			     const char *text)
{
	char restarts[24], recorded[24], exit[80] = "";
	struct rec_service words = { .have = w->have_exit ? REC_UNIT_EXIT : 0,
				     .exit_code = w->exit_code,
				     .exit_status = w->exit_status };
	struct rec_event_field fields[6] = { { "unit", unit } };
	size_t n = 1;

	snprintf(restarts, sizeof(restarts), "%" PRIu64, w->restarts);
	snprintf(recorded, sizeof(recorded), "%" PRIu64, w->recorded);
	fields[n++] = (struct rec_event_field){ "restarts", restarts };
	if (w->recorded)
		fields[n++] = (struct rec_event_field){ "restarts_recorded", recorded };
	if (*w->invocation)
		fields[n++] = (struct rec_event_field){ "invocation", w->invocation };
	if (rec_unit_exit_words(&words, exit, sizeof(exit)))
		fields[n++] = (struct rec_event_field){ "exit", exit };
	if (*w->result)
		fields[n++] = (struct rec_event_field){ "result", w->result };
	struct rec_event event = {
		.time_ns = clock_real_ns(),
		.source = EVENT_UNIT,
		.severity = severity,
		.trusted = true,
		.id = id,
		.text = text,
		.fields = fields,
		.n_fields = n,
	};
	units_put(s, &event);
}

/* The counter only grows while systemd restarts the unit; reset-failed, and a start by hand, put it
 * back to 0. What it has counted since then is new. */
static void units_count(struct record_units_state *s, struct watched *w, uint64_t restarts,
			const char *invocation)
{
	bool fell = w->known && restarts < w->restarts;
	uint64_t more = !w->known ? 0 : fell ? restarts : restarts - w->restarts;
	bool same = invocation && strcmp(invocation, w->invocation) == 0;
	char text[420];

	if (fell) {
		snprintf(text, sizeof(text),
			 "%s: the restart counter went from %" PRIu64 " to %" PRIu64 "%s", w->name,
			 w->restarts, restarts,
			 same ? ": reset while it is the same activation" : "");
		w->restarts = restarts;
		units_put_change(s, w, w->name, "unit-counter-reset", EVENT_INFO, text);
	}
	w->restarts = restarts;
	w->known = true;
	if (invocation)
		text_copy(w->invocation, sizeof(w->invocation), invocation);
	if (!more)
		return;
	w->recorded += more;
	w->restarted_ns = clock_mono_ns();
	snprintf(text, sizeof(text), "%s is restarted, the counter is at %" PRIu64, w->name,
		 restarts);
	units_put_change(s, w, w->name, "unit-restart", EVENT_WARN, text);
}

/* Jobs that end badly leave no other trace when the unit never changed its state. */
static void units_job(struct record_units_state *s, const struct watched *w, const char *how)
{
	static const char *const bad[] = { "failed", "timeout", "dependency",
					   "assert", "invalid", "unsupported" };
	bool looping = w->restarted_ns &&
		       w->restarted_ns + UNITS_LOOP_QUIET_S * NS_PER_S > clock_mono_ns();
	char text[420];

	for (size_t i = 0; i < ARRAY_LEN(bad) && !looping; i++) {
		if (strcmp(how, bad[i]) != 0)
			continue;
		snprintf(text, sizeof(text), "a job of %s ended badly: %s", w->name, how);
		units_put_change(s, w, w->name, "unit-job-failed", EVENT_WARN, text);
	}
}

static void units_on_change(void *arg, const struct units_change *c)
{
	struct record_units_state *s = arg;
	struct watched *w = c->unit ? units_watched(s, c->unit) : NULL;
	char text[420];

	if (!w)
		return;
	if (c->have_exit && c->exit_code) {
		w->have_exit = true;
		w->exit_code = c->exit_code;
		w->exit_status = c->exit_status;
	}
	if (c->result)
		text_copy(w->result, sizeof(w->result), c->result);
	if (c->have_restarts)
		units_count(s, w, c->restarts, c->invocation);
	else if (c->invocation)
		text_copy(w->invocation, sizeof(w->invocation), c->invocation);
	if (c->job)
		units_job(s, w, c->job);
	if (!c->active || strcmp(c->active, w->active) == 0)
		return;
	bool first = !*w->active;
	bool looping = w->restarted_ns &&
		       w->restarted_ns + UNITS_LOOP_QUIET_S * NS_PER_S > clock_mono_ns();
	text_copy(w->active, sizeof(w->active), c->active);
	bool failed = strcmp(c->active, "failed") == 0;
	/* between two restarts a unit is "failed" for an instant: told only when it stays so */
	if (failed != w->failed_pending) {
		s->pending += failed ? 1 : -1u;
		w->failed_pending = failed;
	}
	if (looping || failed)
		return;
	if (strcmp(c->active, "active") == 0) {
		snprintf(text, sizeof(text), "%s has started", c->unit);
		units_put_change(s, w, c->unit, "unit-start", EVENT_INFO, text);
	} else if (strcmp(c->active, "inactive") == 0 && !first) {
		snprintf(text, sizeof(text), "%s has stopped", c->unit);
		units_put_change(s, w, c->unit, "unit-stop", EVENT_INFO, text);
	}
}

/* Once a second, and only while someone is in doubt. */
static void units_put_failed(struct record_units_state *s)
{
	char text[300];

	vec_foreach (&s->watched, w) {
		if (!w->failed_pending)
			continue;
		w->failed_pending = false;
		snprintf(text, sizeof(text), "%s has failed", w->name);
		units_put_change(s, w, w->name, "unit-failed", EVENT_CRIT, text);
	}
	s->pending = 0;
}

static void units_on_container(void *arg, const struct rec_container_event *e)
{
	struct record_units_state *s = arg;
	char id[40], text[420], exit[24];
	const char *name = e->name ? e->name : "?";
	struct rec_event_field fields[5] = { { "container", e->id }, { "name", name } };
	size_t n = 2;

	snprintf(id, sizeof(id), "container-%s", rec_container_action_name(e->action));
	fields[n++] = (struct rec_event_field){ "runtime", e->runtime };
	if (e->image)
		fields[n++] = (struct rec_event_field){ "image", e->image };
	snprintf(exit, sizeof(exit), "%" PRId64, e->exit_code);
	if (e->exit_code >= 0)
		fields[n++] = (struct rec_event_field){ "exit_code", exit };
	bool bad = e->action == CONTAINER_OOM || (e->action == CONTAINER_DIE && e->exit_code > 0);
	snprintf(text, sizeof(text), "container %.120s: %s%s%s", name,
		 rec_container_action_name(e->action), e->exit_code >= 0 ? ", exit code " : "",
		 e->exit_code >= 0 ? exit : "");
	struct rec_event event = {
		.time_ns = e->time_ns,
		.source = EVENT_CONTAINER,
		.severity = bad ? EVENT_WARN : EVENT_INFO,
		.trusted = true,
		.id = id,
		.text = text,
		.fields = fields,
		.n_fields = n,
	};
	units_put(s, &event);
}

static void units_epoll_add(struct record_units_state *s, int fd)
{
	struct epoll_event e = { .events = EPOLLIN };

	if (fd >= 0)
		(void)epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e);
}

/* Takes a sweep: what was known before is compared with it, what is new is the baseline. */
static void units_take(struct record_units_state *s, struct rec_unit_set *set)
{
	vec_foreach (&set->units, u) {
		struct watched *w = units_watched(s, u->name);
		if (!w)
			continue;
		if (u->have & REC_UNIT_RESTARTS)
			units_count(s, w, u->restarts, u->invocation);
		else if (u->invocation)
			text_copy(w->invocation, sizeof(w->invocation), u->invocation);
		text_copy(w->active, sizeof(w->active), u->active ? u->active : "");
	}
	/* of the units only those that say something: the frame stays small */
	size_t kept = 0;
	for (size_t i = 0; i < set->units.len; i++)
		if (set->units.items[i].active &&
		    strcmp(set->units.items[i].active, "inactive") != 0)
			set->units.items[kept++] = set->units.items[i];
	set->units.len = kept;
	buf_clear(&s->frame);
	rec_units_encode(&s->frame, set);
}

static void units_forget_asked(struct record_units_state *s)
{
	if (s->asked)
		rec_units_free(s->asked);
	free(s->asked);
	s->asked = NULL;
}

static void units_drop_bus(struct record_units_state *s, const char *why)
{
	units_bus_close(s->bus); /* before the set that its replies go into */
	s->bus = NULL;
	units_forget_asked(s);
	if (!s->told_missing)
		text_copy(s->missing, sizeof(s->missing), why);
}

/* Connect to the manager and ask for the baseline of the counters; nothing of it waits. */
static int units_connect_bus(struct record_units_state *s, struct err *err)
{
	int r = root_exists(s->root, "run/systemd/system")
			? units_bus_open(&s->bus, err)
			: err_set(err, -ENOENT, "pid 1 is not systemd");

	if (r == 0)
		r = units_bus_watch(s->bus, units_on_change, s, err);
	if (r == 0) {
		s->asked = calloc(1, sizeof(*s->asked));
		r = s->asked ? units_bus_ask(s->bus, s->asked, err)
			     : err_set(err, -ENOMEM, "out of memory");
	}
	if (r < 0)
		units_drop_bus(s, err->text);
	else
		units_epoll_add(s, units_bus_fd(s->bus));
	return r;
}

/* Give the manager its 2 s once, before recording begins: a healthy one answers in milliseconds and
 * then stands in the first segment. One that hangs is asked again later. */
static void units_wait_asked(struct record_units_state *s)
{
	struct err err = { 0 };
	int r = 0;

	while (s->bus && s->asked && r == 0) {
		struct epoll_event e;
		r = units_bus_dispatch(s->bus, &err);
		if (r >= 0)
			r = units_bus_ready(s->bus, &err);
		if (r == 0)
			(void)epoll_wait(s->epoll, &e, 1, 20);
	}
	if (r > 0) {
		units_take(s, s->asked);
		units_forget_asked(s);
	} else if (r < 0) {
		units_drop_bus(s, err.text);
	}
}

static size_t units_connect_engines(struct record_units_state *s)
{
	struct docker_socket sockets[3];
	size_t n = docker_sockets(sockets), open = 0;

	for (size_t i = 0; i < n && i < UNITS_MOST_ENGINES; i++) {
		if (s->engines[i].fd < 0 &&
		    docker_follow_open(&s->engines[i], &sockets[i], NULL) == 0)
			units_epoll_add(s, s->engines[i].fd);
		open += s->engines[i].fd >= 0;
	}
	return open;
}

static void units_close(void *state)
{
	struct record_units_state *s = state;

	if (!s)
		return;
	units_bus_close(s->bus);
	units_forget_asked(s);
	for (size_t i = 0; i < UNITS_MOST_ENGINES; i++)
		docker_follow_close(&s->engines[i]);
	map_str_free(&s->by_name);
	vec_free(&s->watched);
	buf_free(&s->frame);
	if (s->epoll >= 0)
		close(s->epoll);
	free(s);
}

static int units_open(void **ret_state, const struct recorder_context *context, struct err *err)
{
	struct record_units_state *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->root = context->root;
	for (size_t i = 0; i < UNITS_MOST_ENGINES; i++)
		s->engines[i].fd = -1;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	int r = s->epoll < 0 ? err_set(err, -errno, "epoll: %s", strerror(errno)) : 0;
	if (r == 0)
		r = units_connect_bus(s, err);
	size_t engines = s->epoll >= 0 ? units_connect_engines(s) : 0;
	/* a manager that does not answer now may answer later; one that is not there will not come
	 */
	bool later = s->epoll >= 0 && root_exists(s->root, "run/systemd/system");
	if (r < 0 && !engines && !later) {
		units_close(s);
		return r;
	}
	units_wait_asked(s);
	*ret_state = s;
	return 0;
}

static int units_begin_segment(void *state, const struct store_clock *clock, struct store_writer *w,
			       struct err *err)
{
	struct record_units_state *s = state;

	return s->frame.len ? store_writer_append(w, FRAME_UNITS, UNITS_FRAME_VERSION,
						  clock->real_ns, s->frame.data, s->frame.len, err)
			    : 0;
}

/* What the manager said; a sweep that is complete is taken. */
static void units_hear(struct record_units_state *s)
{
	struct err err = { 0 };
	int r = units_bus_dispatch(s->bus, &err);

	if (r >= 0 && s->asked)
		r = units_bus_ready(s->bus, &err);
	if (r < 0) {
		units_drop_bus(s, err.text);
	} else if (r > 0) {
		units_take(s, s->asked);
		units_forget_asked(s);
		s->told_missing = false;
	}
}

static int units_ready(void *state, struct store_writer *w, struct err *err)
{
	struct record_units_state *s = state;

	s->w = w;
	s->err = err;
	s->r = 0;
	if (s->bus)
		units_hear(s);
	for (size_t i = 0; i < UNITS_MOST_ENGINES; i++)
		if (s->engines[i].fd >= 0 &&
		    docker_follow_ready(&s->engines[i], units_on_container, s) < 0)
			docker_follow_close(&s->engines[i]);
	s->w = NULL;
	return s->r;
}

static void units_put_missing(struct record_units_state *s)
{
	struct rec_event event = {
		.time_ns = clock_real_ns(),
		.source = EVENT_SELF,
		.severity = EVENT_WARN,
		.trusted = true,
		.id = "units-missing",
		.text = s->missing,
	};
	s->told_missing = true;
	units_put(s, &event);
	s->missing[0] = '\0';
}

/* Whoever went away (systemd closes its connections when it re-executes itself) or did not answer
 * is asked again now and then. Connecting does not wait; the counters known so far stay the
 * baseline. */
static int units_tick(void *state, const struct store_clock *clock, struct store_writer *w,
		      struct err *err)
{
	struct record_units_state *s = state;

	(void)clock;
	s->w = w;
	s->err = err;
	s->r = 0;
	if (s->pending)
		units_put_failed(s);
	if (*s->missing)
		units_put_missing(s);
	int r = s->r;
	/* what the first sweep left in the queue makes no descriptor ready, nor does a limit */
	if (++s->ticks == 1 || s->asked)
		r = units_ready(s, w, err);
	s->w = NULL;
	if (s->ticks % UNITS_RETRY_TICKS != 0)
		return r;
	struct err why = { 0 };
	(void)units_connect_engines(s);
	if (!s->bus && root_exists(s->root, "run/systemd/system"))
		(void)units_connect_bus(s, &why);
	return r;
}

static int units_fd(void *state)
{
	return ((struct record_units_state *)state)->epoll;
}

const struct recorder_part record_units = {
	.name = "units",
	.open = units_open,
	.begin_segment = units_begin_segment,
	.tick = units_tick,
	.fd = units_fd,
	.ready = units_ready,
	.close = units_close,
};

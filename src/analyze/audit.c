#include "audit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "text.h"
#include "timefmt.h"

/* Rates below this are restarts, not a loop: three a day. */
static const double audit_loop_per_hour = 3.0 / 24;
static const uint64_t audit_young_ns = 60 * NS_PER_S;

static void audit_evidence(struct audit *a, struct audit_unit *u, const char *what,
			   const char *value, const char *unit, const char *source,
			   uint64_t time_ns)
{
	struct audit_evidence e = { .what = what, .value = value, .unit = unit, .source = source };

	e.time_ns = time_ns;
	if (value && source)
		(void)!vec_push(&u->evidence, e);
	(void)a;
}

/* The shape with the strongest evidence: the sources list kubelet before ECS before nomad before
 * batch, because a host that runs pods is a Kubernetes node whatever else was baked in. */
static void audit_shape(const struct audit_input *in, struct audit *ret)
{
	if (in->shapes)
		vec_foreach (&in->shapes->list, e)
			(void)!vec_push(&ret->shapes, *e);
	ret->forced = in->forced != SHAPE_UNKNOWN;
	ret->shape = ret->forced       ? in->forced
		     : ret->shapes.len ? ret->shapes.items[0].shape
				       : SHAPE_UNKNOWN;
}

static void audit_restarts(struct audit *a, const struct audit_input *in,
			   const struct rec_service *r, struct audit_unit *u)
{
	bool counted = r->have & REC_UNIT_RESTARTS;
	uint64_t quiet_ns = MAX_OF((uint64_t)((double)r->cadence_ns * loop_limits.quiet_cadences),
				   loop_limits.quiet_ns);
	char span[TIMEFMT_MAX];

	u->restarts_per_hour = -1;
	u->have_restarts = counted || r->seen;
	u->restarts = MAX_OF(counted ? r->restarts : 0, r->seen);
	u->cadence_ns = r->cadence_ns;
	u->first_seen_ns = r->first_ns;
	u->last_seen_ns = r->last_ns;
	bool waiting = r->sub && strcmp(r->sub, "auto-restart") == 0;
	bool recent = waiting || (r->last_ns && r->last_ns + quiet_ns >= in->now_ns);
	if (!r->last_ns && counted && r->restarts && in->set->manager_start_ns &&
	    in->now_ns > in->set->manager_start_ns) {
		/* no journal: the counter over the manager's life is the least it can be */
		u->first_seen_ns = in->set->manager_start_ns;
		u->restarts_per_hour = (double)r->restarts * 3600e9 /
				       (double)(in->now_ns - in->set->manager_start_ns);
		recent = waiting || (r->active && strcmp(r->active, "failed") != 0 &&
				     r->have & REC_UNIT_STARTED &&
				     r->started_ns + 300 * NS_PER_S >= in->now_ns);
	} else if (r->cadence_ns && recent) {
		u->restarts_per_hour = 3600e9 / (double)r->cadence_ns;
	} else if (r->seen > 1 && in->now_ns > r->first_ns) {
		u->restarts_per_hour =
			(double)r->seen * 3600e9 / (double)(in->now_ns - r->first_ns);
	}
	u->crash_loop = recent && u->restarts >= loop_limits.restarts &&
			u->restarts_per_hour >= audit_loop_per_hour;
	if (counted)
		audit_evidence(a, u, "restarts counted by systemd",
			       arena_printf(&a->arena, "%" PRIu64, r->restarts), NULL,
			       arena_printf(&a->arena, "systemctl show %s -p NRestarts", r->name),
			       in->now_ns);
	if (r->seen)
		audit_evidence(a, u, "restarts in the journal",
			       arena_printf(&a->arena, "%" PRIu64, r->seen), NULL,
			       arena_printf(&a->arena, "%s UNIT=%s",
					    r->seen_source ? r->seen_source : "journal", r->name),
			       r->last_ns);
	if (r->cadence_ns)
		audit_evidence(a, u, "cadence",
			       arena_strdup(&a->arena, timefmt_span(span, r->cadence_ns)), NULL,
			       "median of the times between restarts", r->last_ns);
}

static void audit_exit(struct audit *a, const struct audit_input *in, const struct rec_service *r,
		       struct audit_unit *u)
{
	char words[80];

	if (rec_unit_exit_words(r, words, sizeof(words)) &&
	    !(r->exit_code == 1 && r->exit_status == 0 && !u->crash_loop))
		u->result = arena_printf(&a->arena, "%s%s%s%s", words, r->result ? " (" : "",
					 r->result ? r->result : "", r->result ? ")" : "");
	else if (r->result && strcmp(r->result, "success") != 0)
		u->result = r->result;
	if (u->result)
		audit_evidence(a, u, "last result", u->result, NULL,
			       arena_printf(&a->arena,
					    "systemctl show %s -p Result -p ExecMainCode -p "
					    "ExecMainStatus",
					    r->name),
			       r->exited_ns ? r->exited_ns : in->now_ns);
}

static void audit_fit(struct audit *a, const struct audit_input *in, struct audit_unit *u)
{
	struct fit_host host = { .shape = a->shape,
				 .image = in->image || in->captured,
				 .ask = in->ask,
				 .arg = in->ask_arg };
	struct fit_result fit;

	fit_judge(in->agents, u->unit, &host, &fit);
	u->fits = fit.fit;
	u->why = arena_strdup(&a->arena, fit.why);
	if (!fit.agent)
		return;
	u->leaks = *fit.agent->leak ? fit.agent->leak : NULL;
	u->action = *fit.agent->action ? fit.agent->action : NULL;
	u->product = fit.agent->product;
	u->expected = strstr(fit.agent->signature, "loops by design") && a->shape == SHAPE_K8S;
	audit_evidence(a, u, "fit", arena_printf(&a->arena, "%s: %s", fit_name(fit.fit), fit.why),
		       NULL, *fit.source ? arena_strdup(&a->arena, fit.source) : "knowledge base",
		       in->now_ns);
	if (fit.fit == FIT_NO && *fit.agent->source)
		audit_evidence(a, u, "known from", fit.agent->source, NULL, "knowledge base",
			       in->now_ns);
}

static void audit_boot(struct audit *a, const struct audit_input *in, struct audit_unit *u)
{
	u->boot = in->plan ? unit_boot_find(in->plan, u->unit) : NULL;
	if (!u->boot)
		return;
	if (!u->enabled)
		u->enabled = unit_file_state_name(u->boot->state);
	if (!in->image)
		return;
	audit_evidence(
		a, u, "once booted",
		arena_printf(&a->arena, "%s%s: %s", u->boot->enabled ? "enabled" : "not enabled",
			     u->boot->starts ? ", started" : "", u->boot->why ? u->boot->why : ""),
		NULL,
		u->boot->source ? arena_printf(&a->arena, "/%s", u->boot->source)
				: "unit files of the image",
		in->now_ns);
	if (u->boot->starts && u->boot->pulled_by)
		audit_evidence(a, u, "started by", u->boot->pulled_by, NULL,
			       "wants and requires from default.target", in->now_ns);
}

static void audit_container(struct audit *a, const struct audit_input *in, struct audit_unit *u)
{
	vec_foreach (&a->loops.list, loop) {
		if (!loop->unit || strcmp(loop->unit, u->unit) != 0)
			continue;
		u->container = loop;
		audit_evidence(a, u, "container",
			       arena_printf(&a->arena, "%s (image %s)",
					    loop->name ? loop->name : "new names",
					    loop->image ? loop->image : "?"),
			       NULL, loop->proof_text, in->now_ns);
		audit_evidence(a, u,
			       loop->in_place ? "restarts of that container"
					      : "creates of that container",
			       arena_printf(&a->arena, "%" PRIu64,
					    loop->in_place ? loop->restarts : loop->creates),
			       NULL,
			       arena_printf(&a->arena, "%s %s", loop->runtime,
					    loop->in_place ? "RestartCount" : "events"),
			       loop->last_ns);
		audit_evidence(a, u, loop->in_place ? "restarts per minute" : "creates per minute",
			       arena_printf(&a->arena, "%.1f", loop->per_min), "1/min",
			       "median of the times between them", loop->last_ns);
		if (!loop->looping)
			continue;
		/* the loop inside one activation: the unit itself never restarts */
		if (!u->crash_loop) {
			u->crash_loop = true;
			u->cadence_ns = loop->cadence_ns;
			u->restarts_per_hour = loop->per_min * 60;
			u->first_seen_ns = loop->first_ns;
			u->last_seen_ns = loop->last_ns;
			if (loop->exit_code >= 0)
				u->result = arena_printf(&a->arena, "container exit code %" PRId64,
							 loop->exit_code);
		}
		if (!u->leaks)
			u->leaks = arena_printf(
				&a->arena,
				loop->in_place
					? "its memory cgroup (%s/<id>), made anew per restart"
					: "one container and its memory cgroup (%s/<id>) per "
					  "create",
				loop->cgroup_parent ? loop->cgroup_parent
						    : "the engine's directory");
	}
}

static bool audit_enabled(const struct audit_unit *u)
{
	return u->enabled &&
	       (text_starts(u->enabled, "enabled") || text_starts(u->enabled, "linked"));
}

static void audit_unit(struct audit *a, const struct audit_input *in, const struct rec_service *r)
{
	struct audit_unit u = { .unit = r->name,
				.enabled = r->file_state && *r->file_state ? r->file_state : NULL,
				.active = r->active,
				.sub = r->sub };
	char words[240];

	a->n_units++;
	audit_restarts(a, in, r, &u);
	audit_exit(a, in, r, &u);
	u.failed = r->active && strcmp(r->active, "failed") == 0;
	audit_boot(a, in, &u);
	audit_fit(a, in, &u);
	audit_container(a, in, &u);
	u.forecast = fit_restart(r, words);
	if (*words)
		u.forecast_words = arena_strdup(&a->arena, words);
	bool present = in->image ? u.boot && (u.boot->enabled || u.boot->starts)
				 : audit_enabled(&u) ||
					   (r->active && (strcmp(r->active, "active") == 0 ||
							  strcmp(r->active, "activating") == 0 ||
							  strcmp(r->active, "failed") == 0));
	/* what does not fit but does no harm (its own Condition skips it) is no finding */
	u.misfit = u.fits == FIT_NO && present && !(u.action && text_starts(u.action, "harmless"));
	bool endless = u.forecast == RESTART_ENDLESS && present;
	if (u.crash_loop && !u.leaks)
		u.leaks = "the unit's own cgroup (system.slice/<unit>) is removed and made anew "
			  "per restart";
	if (u.crash_loop && !u.action)
		u.action = u.fits == FIT_YES
				   ? "repair its cause; it belongs here"
				   : "find out whether it belongs here, then repair or mask it";
	if ((u.misfit || endless) && u.forecast_words)
		audit_evidence(a, &u, "forecast", u.forecast_words, NULL,
			       r->fragment ? r->fragment : "unit file", in->now_ns);
	a->n_loops += u.crash_loop && !u.expected;
	a->n_failed += u.failed && !u.crash_loop;
	a->n_misfits += u.misfit;
	a->n_endless += endless;
	if (!in->all && !u.crash_loop && !u.failed && !u.misfit) {
		vec_free(&u.evidence);
		return;
	}
	if (!vec_push(&a->units, u))
		vec_free(&u.evidence);
}

static int audit_rank(const struct audit_unit *u)
{
	return u->crash_loop ? 0 : u->failed ? 1 : u->misfit ? 2 : 3;
}

static int audit_compare(const void *x, const void *y)
{
	const struct audit_unit *a = x, *b = y;
	int d = audit_rank(a) - audit_rank(b);

	return d ? d : strcmp(a->unit, b->unit);
}

int audit_run(const struct audit_input *in, struct audit *ret, struct err *err)
{
	*ret = (struct audit){ .image = in->image, .captured = in->captured };
	ret->first_boot = in->plan && in->plan->first_boot;
	audit_shape(in, ret);
	int r = container_loops_find(in->set, in->now_ns, &ret->loops);
	if (r < 0)
		return err_set(err, r, "out of memory");
	container_loops_link(&ret->loops, in->set, in->agents);
	ret->now_ns = in->now_ns;
	vec_foreach (&in->set->containers, c)
		if (c->created_ns && c->created_ns + audit_young_ns > in->now_ns &&
		    !vec_push(&ret->young, c))
			return err_set(err, -ENOMEM, "out of memory");
	vec_foreach (&in->set->units, u)
		audit_unit(ret, in, u);
	vec_sort(&ret->units, audit_compare);
	return 0;
}

void audit_add_zombies(struct audit *a, const char *unit, const char *parent, uint64_t count,
		       const char *source, uint64_t time_ns)
{
	vec_foreach (&a->units, u) {
		bool by_unit = unit && strcmp(unit, u->unit) == 0;
		bool by_container = parent && u->container && u->container->cgroup_parent &&
				    text_ends(parent, u->container->cgroup_parent);
		if (!by_unit && !by_container)
			continue;
		u->have_zombies = true;
		u->zombies += count;
		audit_evidence(
			a, u,
			by_unit ? "zombie memory cgroups of the unit"
				: arena_printf(&a->arena, "zombie memory cgroups under %s", parent),
			arena_printf(&a->arena, "%" PRIu64, count), NULL,
			arena_strdup(&a->arena, source), time_ns);
	}
}

bool audit_has_finding(const struct audit *a)
{
	vec_foreach (&a->loops.list, loop)
		if (loop->looping)
			return true;
	return a->n_loops || a->n_failed || a->n_misfits;
}

void audit_free(struct audit *a)
{
	vec_foreach (&a->units, u)
		vec_free(&u->evidence);
	vec_free(&a->units);
	vec_free(&a->shapes);
	container_loops_free(&a->loops);
	vec_free(&a->young);
	arena_free(&a->arena);
}

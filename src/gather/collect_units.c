/* Facts from units and containers: who loops, who does not belong, who recreates what. */
#include <errno.h>
#include <string.h>

#include "audit_read.h"
#include "auto.h"
#include "collect.h"
#include "rec_units.h"
#include "timefmt.h"
#include "unit_guard.h"

/* So many missed turns, and so long besides, end a loop. */
enum { UNITS_OVER_TURNS = 3 };
static const uint64_t units_over_ns = 5 * NS_PER_S;

static int units_fill_containers(struct collected *c, const struct audit *a)
{
	vec_foreach (&a->loops.list, l) {
		struct fact_container fact = {
			.name = collect_text(c, l->name ? l->name : l->image),
			.image = collect_text(c, l->image),
			.unit = collect_text(c, l->unit),
			.parent = collect_text(c, l->cgroup_parent),
			.link_proof = l->proof == LINK_NONE ? NULL : collect_text(c, l->proof_text),
			.creates_per_min = l->looping ? l->per_min : 0,
			.creates = l->in_place ? l->restarts : l->creates,
			.in_place = l->in_place,
			.exit_code = (int)l->exit_code,
			.from_ns = l->first_ns,
			.to_ns = l->last_ns,
		};
		fact.name = fact.name ? fact.name : "?";
		if (!vec_push(&c->facts.containers, fact))
			return -ENOMEM;
	}
	return 0;
}

/* The journal remembers a loop for an hour. One that was stopped, masked or mended since is no
 * longer why the host is sick; what it left behind has a rule of its own. A unit that the manager
 * was asked about and does not hold is not running. */
static bool units_loop_is_over(const struct audit_input *input, const struct audit_unit *u)
{
	bool down = u->active
			    ? strcmp(u->active, "inactive") == 0 || strcmp(u->active, "failed") == 0
			    : input->set->have_units;

	return down && u->last_seen_ns &&
	       u->last_seen_ns + UNITS_OVER_TURNS * u->cadence_ns + units_over_ns < input->now_ns;
}

static int units_fill(struct collected *c, const struct audit_input *input, const struct audit *a)
{
	vec_foreach (&a->units, u) {
		struct fact_unit fact = {
			.unit = collect_text(c, u->unit),
			.crash_loop = u->crash_loop && u->restarts_per_hour > 0,
			.active = u->active && strcmp(u->active, "active") == 0,
			.failed = u->failed,
			.is_protected = unit_is_protected(u->unit),
			.expected = u->expected,
			.restarts = u->restarts,
			.restarts_per_hour = u->restarts_per_hour > 0 ? u->restarts_per_hour : 0,
			.cadence_ns = u->cadence_ns,
			.first_seen_ns = u->first_seen_ns,
			.last_seen_ns = u->last_seen_ns,
			.result = collect_text(c, u->result),
			.fits = u->fits == FIT_YES  ? 1
				: u->fits == FIT_NO ? 0
						    : -1,
			.why = collect_text(c, u->why),
			.leaks = collect_text(c, u->leaks),
			.action = collect_text(c, u->action),
			.source = collect_text(c, u->product),
		};
		/* What loops inside one activation restarts nothing: the container says it. */
		if (u->container && !u->restarts)
			fact.crash_loop = false;
		if (units_loop_is_over(input, u))
			fact.crash_loop = false;
		if (fact.unit && !vec_push(&c->facts.units, fact))
			return -ENOMEM;
	}
	return 0;
}

static int units_audit(struct collected *c, const struct audit_input *input, struct err *err)
{
	AUTO_AUDIT struct audit audit = { 0 };

	int r = audit_run(input, &audit, err);
	if (r == 0)
		r = units_fill_containers(c, &audit);
	if (r == 0)
		r = units_fill(c, input, &audit);
	c->facts.have |= (input->set->have_units ? FACT_UNITS : 0) |
			 (input->set->have_containers ? FACT_CONTAINERS : 0);
	return r;
}

int collect_units_of(const struct root *root, uint64_t now_ns, struct collected *c, struct err *err)
{
	AUTO_AUDIT_READ struct audit_read read = { 0 };

	int r = audit_read_all(root, NULL, &read, err);
	if (r < 0)
		return r;
	struct audit_input input = audit_read_input(&read, now_ns);
	vec_foreach (&read.set.unknowns.list, u)
		unknowns_add(&c->unknown, u->what, "%s", u->why);
	return units_audit(c, &input, err);
}

int collect_units(const struct collect_window *w, struct collected *c, struct err *err)
{
	AUTO_REC_UNITS struct rec_unit_set set = { 0 };
	AUTO_BUF struct buf bytes = { 0 };

	if (w->live)
		return collect_units_of(w->live, w->to_ns, c, err);
	int r = collect_last_frame(w, FRAME_UNITS, &bytes, err);
	if (r < 0)
		return r;
	if (rec_units_decode(bytes.data, bytes.len, &set) < 0)
		return err_set(err, -EBADMSG, "the recorded units cannot be read");
	struct agents agents = { 0 };
	r = agents_builtin(&agents, err);
	if (r < 0)
		return r;
	struct audit_input input = { .set = &set, .agents = &agents, .now_ns = w->to_ns };
	r = units_audit(c, &input, err);
	agents_free(&agents);
	return r;
}

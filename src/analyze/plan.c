#include "plan.h"

#include <inttypes.h>
#include <string.h>

#include "auto.h"

static const char *const action_names[] = {
	[PLAN_DISABLE] = "disable", [PLAN_PURGE] = "purge",   [PLAN_VALIDATE] = "validate",
	[PLAN_LOOK] = "look",       [PLAN_REBOOT] = "reboot",
};

const char *plan_action_name(enum plan_action action)
{
	return action < ARRAY_LEN(action_names) ? action_names[action] : "unknown";
}

static void plan_add(struct diagnosis *d, struct plan_step step)
{
	step.id = (unsigned)d->plan.len + 1;
	(void)vec_push(&d->plan, step);
}

static bool plan_has(const struct diagnosis *d, enum plan_action action, const char *target)
{
	vec_foreach (&d->plan, s)
		if (s->action == action && strcmp(s->target, target) == 0)
			return true;
	return false;
}

static const struct fact_unit *plan_unit(const struct facts *facts, const char *name)
{
	vec_foreach (&facts->units, u)
		if (strcmp(u->unit, name) == 0)
			return u;
	return NULL;
}

/* Only a unit that loops, or that recreates containers, is stopped; one that merely suffers
 * (kubelet walking zombies) never. */
static bool plan_unit_is_cause(const struct finding *f)
{
	return f->place.unit &&
	       (strcmp(f->rule, "unit-crash-loop") == 0 || strcmp(f->rule, "unit-misfit") == 0 ||
		strcmp(f->rule, "container-churn") == 0);
}

static void plan_unit_steps(const struct facts *facts, struct diagnosis *d, const char *unit)
{
	const struct fact_unit *u = plan_unit(facts, unit);
	const char *force =
		u && u->is_protected ? findings_text(&d->findings, " --force %s", unit) : "";

	if (plan_has(d, PLAN_DISABLE, unit))
		return;
	plan_add(d, (struct plan_step){
			    .action = PLAN_DISABLE,
			    .target = unit,
			    .command = findings_text(&d->findings, "zscope fix %zu --apply%s",
						     d->plan.len + 1, force),
			    .why = findings_text(
				    &d->findings,
				    "stop %s, wait until its cgroup is empty, and mask it: a unit "
				    "that is "
				    "only disabled can come back at first boot or with an upgrade",
				    unit),
			    .risk = u && u->is_protected ? "high" : "low",
			    .reversible = true,
		    });
}

static void plan_look(const struct facts *facts, struct diagnosis *d, const struct finding *f)
{
	const char *command;

	if (f->place.cpu >= 0 && f->from_ns)
		command = findings_text(
			&d->findings, "zscope flame --cpu %d --from @%" PRIu64 " --to @%" PRIu64,
			f->place.cpu, f->from_ns / 1000000000, f->to_ns / 1000000000 + 1);
	else
		command = findings_text(&d->findings,
					"zscope events --from @%" PRIu64 " --to @%" PRIu64,
					facts->from_ns / 1000000000, facts->to_ns / 1000000000 + 1);
	plan_add(d, (struct plan_step){
			    .action = PLAN_LOOK,
			    .target = "",
			    .command = command,
			    .why = findings_text(&d->findings, "%s",
						 f->fix ? f->fix : "see what happened"),
			    .risk = "none",
			    .reversible = true,
		    });
}

void plan_make(const struct facts *facts, struct diagnosis *d)
{
	bool zombies = false;

	vec_foreach (&d->chains.ranked, e)
		vec_foreach (&e->findings, i)
			if (plan_unit_is_cause(&d->findings.list.items[*i]))
				plan_unit_steps(facts, d, d->findings.list.items[*i].place.unit);
	vec_foreach (&d->findings.list, f)
		zombies |= strcmp(f->rule, "memcg-zombies") == 0 ||
			   strcmp(f->rule, "cgroup-churn") == 0; /* some stay behind, it says */
	if (zombies)
		plan_add(d, (struct plan_step){
				    .action = PLAN_PURGE,
				    .target = "",
				    .command = "zscope purge --apply",
				    .why = "release the zombies that page cache pins; nobody "
					   "else's cache is touched",
				    .risk = "low",
			    });
	if (d->plan.len)
		plan_add(d, (struct plan_step){
				    .action = PLAN_VALIDATE,
				    .target = "",
				    .command = "zscope validate --for 10m",
				    .why = "watch whether it helped",
				    .risk = "none",
				    .reversible = true,
			    });
	else if (d->chains.ranked.len)
		plan_look(facts, d,
			  &d->findings.list.items[d->chains.ranked.items[0].findings.items[0]]);
}

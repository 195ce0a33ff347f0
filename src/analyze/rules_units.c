/* Who makes what piles up: units, containers, cgroups. */
#include <inttypes.h>
#include <string.h>

#include "rule.h"
#include "timefmt.h"

static void unit_cadence(struct findings *all, struct finding *f, const struct fact_unit *u)
{
	char span[TIMEFMT_MAX];

	if (u->cadence_ns)
		finding_evidence(all, f, "cadence", timefmt_span(span, u->cadence_ns), NULL,
				 "times between the unit's starts in the journal", u->last_seen_ns);
	if (u->result)
		finding_evidence(all, f, "last result", u->result, NULL,
				 findings_text(all, "systemctl show %s -p Result -p ExecMainStatus",
					       u->unit),
				 u->last_seen_ns);
}

void judge_unit_crash_loop(const struct facts *facts, const struct thresholds *t,
			   struct findings *all)
{
	vec_foreach (&facts->units, u) {
		if (!u->crash_loop || u->expected ||
		    u->restarts_per_hour < t->crash_restarts_per_hour)
			continue;
		struct finding *f = findings_add(all, "unit-crash-loop", PROOF_COUNTER, ROLE_CAUSE);
		if (!f)
			return;
		f->place.unit = u->unit;
		f->from_ns = u->first_seen_ns;
		f->to_ns = u->last_seen_ns;
		f->weight = u->restarts_per_hour / (u->restarts_per_hour + 60);
		f->title = findings_text(all,
					 "%s crash-loops: %" PRIu64 " restarts, %.0f per hour%s%s",
					 u->unit, u->restarts, u->restarts_per_hour,
					 u->result ? ", " : "", u->result ? u->result : "");
		finding_evidence(all, f, "restarts", findings_text(all, "%" PRIu64, u->restarts),
				 NULL,
				 findings_text(all, "systemctl show %s -p NRestarts", u->unit),
				 u->last_seen_ns);
		finding_evidence(all, f, "restarts per hour",
				 findings_text(all, "%.1f", u->restarts_per_hour), "1/h",
				 findings_text(all, "journalctl -u %s", u->unit), u->last_seen_ns);
		unit_cadence(all, f, u);
	}
}

/* A misfit that does no harm is for `audit`, not for a diagnosis: it must loop, or recreate a
 * container. */
static bool unit_does_harm(const struct facts *facts, const struct thresholds *t,
			   const struct fact_unit *u)
{
	if (u->crash_loop)
		return true;
	vec_foreach (&facts->containers, c)
		if (c->unit && strcmp(c->unit, u->unit) == 0 &&
		    c->creates_per_min >= t->container_creates_per_min)
			return true;
	return false;
}

void judge_unit_misfit(const struct facts *facts, const struct thresholds *t, struct findings *all)
{
	vec_foreach (&facts->units, u) {
		if (u->fits != 0 || !unit_does_harm(facts, t, u))
			continue;
		struct finding *f = findings_add(all, "unit-misfit", PROOF_COUNTER, ROLE_CAUSE);
		if (!f)
			return;
		f->place.unit = u->unit;
		f->from_ns = u->first_seen_ns;
		f->to_ns = u->last_seen_ns;
		f->weight = 0.5;
		f->title = findings_text(all, "%s does not belong on this kind of host: %s",
					 u->unit, u->why ? u->why : "its needs are not met");
		finding_evidence(all, f, "fit", u->why ? u->why : "no", NULL,
				 findings_text(all, "zscope audit (knowledge base: %s)",
					       u->source ? u->source : "built in"),
				 facts->to_ns);
		if (u->leaks)
			finding_evidence(all, f, "each restart leaves", u->leaks, NULL,
					 "zscope audit", facts->to_ns);
	}
}

void judge_container_churn(const struct facts *facts, const struct thresholds *t,
			   struct findings *all)
{
	vec_foreach (&facts->containers, c) {
		if (c->creates < t->container_least_creates ||
		    c->creates_per_min < t->container_creates_per_min)
			continue;
		struct finding *f = findings_add(all, "container-churn", PROOF_COUNTER, ROLE_CAUSE);
		if (!f)
			return;
		f->place.unit = c->unit;
		f->place.container = c->name;
		f->place.cgroup = c->parent;
		f->from_ns = c->from_ns;
		f->to_ns = c->to_ns;
		f->weight = c->creates_per_min / (c->creates_per_min + 2);
		f->title = findings_text(
			all, "container %s%s%s is %s %.1f times a minute%s%s", c->name,
			c->image ? " of image " : "", c->image ? c->image : "",
			c->in_place ? "restarted by its policy" : "created", c->creates_per_min,
			c->unit ? " by " : "", c->unit ? c->unit : "");
		finding_evidence(all, f, c->in_place ? "restarts" : "creates",
				 findings_text(all, "%" PRIu64, c->creates), NULL,
				 "GET /events?since=0 of the container engine's socket", c->to_ns);
		finding_evidence(all, f, c->in_place ? "restarts per minute" : "creates per minute",
				 findings_text(all, "%.1f", c->creates_per_min), "1/min",
				 "GET /events?since=0 of the container engine's socket", c->to_ns);
		if (c->exit_code >= 0)
			finding_evidence(all, f, "exit code",
					 findings_text(all, "%d", c->exit_code), NULL,
					 "die events of the container engine", c->to_ns);
		if (c->link_proof)
			finding_evidence(all, f, "made by", c->unit, NULL, c->link_proof, c->to_ns);
	}
}

void judge_cgroup_churn(const struct facts *facts, const struct thresholds *t, struct findings *all)
{
	vec_foreach (&facts->churn, c) {
		if (c->made_per_min < t->cgroup_made_per_min || c->left < t->cgroup_least_left)
			continue;
		struct finding *f = findings_add(all, "cgroup-churn", PROOF_TRACED, ROLE_CAUSE);
		if (!f)
			return;
		f->place.unit = c->unit;
		f->place.cgroup = c->parent;
		f->place.comm = c->creator;
		f->from_ns = c->from_ns;
		f->to_ns = c->to_ns;
		f->weight = c->made_per_min / (c->made_per_min + 600);
		f->title = findings_text(
			all,
			"%.0f memory cgroups a minute are made%s%s below %s, and %" PRIu64
			" of those removed stay behind",
			c->made_per_min, c->creator ? " by " : "", c->creator ? c->creator : "",
			c->parent, c->left);
		finding_evidence(all, f, "cgroups made per minute",
				 findings_text(all, "%.1f", c->made_per_min), "1/min",
				 "tracepoint cgroup:cgroup_mkdir (zscope zombies --watch 30s)",
				 c->to_ns);
		finding_evidence(all, f, "removed, not released",
				 findings_text(all, "%" PRIu64, c->left), NULL,
				 "tracepoints cgroup:cgroup_rmdir and cgroup_release", c->to_ns);
	}
}

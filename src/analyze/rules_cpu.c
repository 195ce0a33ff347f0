/* What holds the cores: saturation, real time, steal, interrupts, quotas, weights. */
#include <inttypes.h>
#include <math.h>

#include "rule.h"
#include "timefmt.h"

struct core_mode {
	const char *name;
	double percent;
};

static struct core_mode core_mode_of(const struct fact_core *c)
{
	struct core_mode best = { "usr", c->usr };

	if (c->sys > best.percent)
		best = (struct core_mode){ "sys", c->sys };
	if (c->soft > best.percent)
		best = (struct core_mode){ "soft", c->soft };
	if (c->irq > best.percent)
		best = (struct core_mode){ "irq", c->irq };
	return best;
}

static void core_evidence(struct findings *all, struct finding *f, const struct fact_core *c,
			  struct core_mode mode)
{
	char from[TIMEFMT_MAX];
	const char *window =
		findings_text(all, "zscope cores --at @%" PRIu64 " --for %.0fs",
			      c->from_ns / NS_PER_S, (double)(c->to_ns - c->from_ns) / 1e9);

	finding_evidence(all, f, findings_text(all, "core %u %s", c->cpu, mode.name),
			 findings_text(all, "%.0f", mode.percent), "%", window, c->from_ns);
	finding_evidence(all, f, "all cores", findings_text(all, "%.0f", c->host_busy), "%",
			 "/proc/stat", c->from_ns);
	finding_evidence(all, f, "since", timefmt_local(from, c->from_ns), NULL, window,
			 c->from_ns);
	if (c->comm)
		finding_evidence(all, f, "held by",
				 findings_text(all, "%s (pid %" PRIu64 ")", c->comm, c->pid), NULL,
				 findings_text(all,
					       "/proc/%" PRIu64 "/stat: processor, utime, stime",
					       c->pid),
				 c->to_ns);
	if (c->path)
		finding_evidence(
			all, f, "hottest function", c->path, NULL,
			findings_text(all, "zscope flame --cpu %u --at @%" PRIu64 " --for %.0fs",
				      c->cpu, c->from_ns / NS_PER_S,
				      (double)(c->to_ns - c->from_ns) / 1e9),
			c->from_ns);
}

/* Did a NIC whose interrupt is on this core reset itself meanwhile? */
static bool core_starved_somebody(const struct facts *facts, const struct fact_core *c)
{
	vec_foreach (&facts->resets, r)
		if (r->cpu == (int)c->cpu && r->time_ns >= c->from_ns && r->from_ns <= c->to_ns)
			return true;
	return false;
}

/* Saturated, long enough, and unseen in the mean or all kernel. User work that fills a core is what
 * cores are for, unless it starved somebody. */
static bool core_is_finding(const struct facts *facts, const struct fact_core *c,
			    const struct thresholds *t)
{
	double kernel = c->sys + c->soft + c->irq;

	if (c->to_ns - c->from_ns < t->saturated_least_ns)
		return false;
	if (core_starved_somebody(facts, c) || kernel >= t->saturated_percent - 5)
		return true;
	return c->host_busy < t->hidden_host_percent + 25 && kernel >= t->saturated_percent / 2;
}

/* A core that was full for a while, and the task that held it; weight = how bad. */
static struct finding *holder_finding(struct findings *all, const struct fact_core *c,
				      const char *rule, enum finding_role role, double weight)
{
	struct finding *f = findings_add(all, rule, PROOF_COUNTER, role);

	if (!f)
		return NULL;
	f->place.cpu = (int)c->cpu;
	f->place.pid = c->pid;
	f->place.comm = c->comm;
	f->place.unit = c->unit;
	f->from_ns = c->from_ns;
	f->to_ns = c->to_ns;
	f->weight = weight;
	return f;
}

void judge_core_saturated(const struct facts *facts, const struct thresholds *t,
			  struct findings *all)
{
	vec_foreach (&facts->cores, c) {
		if (!core_is_finding(facts, c, t))
			continue;
		struct core_mode mode = core_mode_of(c);
		char span[TIMEFMT_MAX];
		struct finding *f =
			holder_finding(all, c, "core-saturated", ROLE_LINK,
				       0.5 + (double)(c->to_ns - c->from_ns) / 1e9 / 120);
		if (!f)
			return;
		f->place.cgroup = c->cgroup;
		f->title = findings_text(
			all, "core %u at %.0f %% %s for %s while the host shows %.0f %%%s%s",
			c->cpu, mode.percent, mode.name, timefmt_span(span, c->to_ns - c->from_ns),
			c->host_busy, c->comm ? ", held by " : "", c->comm ? c->comm : "");
		core_evidence(all, f, c, mode);
	}
}

void judge_rt_hog(const struct facts *facts, const struct thresholds *t, struct findings *all)
{
	vec_foreach (&facts->cores, c) {
		if (!c->realtime || !c->comm || c->task_share < t->saturated_percent / 2 ||
		    c->to_ns - c->from_ns < t->saturated_least_ns)
			continue;
		struct finding *f =
			holder_finding(all, c, "rt-hog", ROLE_CAUSE, c->task_share / 100);
		if (!f)
			return;
		f->title = findings_text(all, "real-time task %s (pid %" PRIu64 ") holds core %u%s",
					 c->comm, c->pid, c->cpu,
					 facts->rt_throttled ? "; the kernel throttled it" : "");
		finding_evidence(all, f, "policy", "real-time", NULL,
				 findings_text(all, "/proc/%" PRIu64 "/stat: rt_priority", c->pid),
				 c->to_ns);
		finding_evidence(all, f, findings_text(all, "share of core %u", c->cpu),
				 findings_text(all, "%.0f", c->task_share), "%",
				 findings_text(all, "/proc/%" PRIu64 "/schedstat", c->pid),
				 c->to_ns);
	}
}

/* One core over the whole window; weight = how bad. */
static struct finding *core_finding(const struct facts *facts, struct findings *all,
				    const char *rule, enum finding_role role, unsigned cpu,
				    double weight)
{
	struct finding *f = findings_add(all, rule, PROOF_COUNTER, role);

	if (!f)
		return NULL;
	f->place.cpu = (int)cpu;
	f->from_ns = facts->from_ns;
	f->to_ns = facts->to_ns;
	f->weight = weight;
	return f;
}

/* A share of a core's time as /proc/stat counts it. */
static void share_evidence(const struct facts *facts, struct findings *all, struct finding *f,
			   const char *what, unsigned cpu, double percent)
{
	finding_evidence(all, f, findings_text(all, "core %u %s", cpu, what),
			 findings_text(all, "%.1f", percent), "%", "/proc/stat", facts->to_ns);
}

void judge_steal(const struct facts *facts, const struct thresholds *t, struct findings *all)
{
	if (facts->steal_percent < t->steal_percent)
		return;
	struct finding *f = core_finding(facts, all, "steal", ROLE_CAUSE, facts->steal_cpu,
					 facts->steal_percent / 100);
	if (!f)
		return;
	f->title = findings_text(all, "the hypervisor took %.0f %% of core %u",
				 facts->steal_percent, facts->steal_cpu);
	share_evidence(facts, all, f, "steal", facts->steal_cpu, facts->steal_percent);
}

void judge_missing_ticks(const struct facts *facts, const struct thresholds *t,
			 struct findings *all)
{
	unsigned cpu = facts->missing_ticks_cpu;

	if (facts->missing_ticks_seconds < t->missing_ticks_seconds ||
	    facts->missing_ticks_percent < t->missing_ticks_percent)
		return;
	struct finding *f = core_finding(facts, all, "missing-ticks", ROLE_SYMPTOM, cpu,
					 facts->missing_ticks_percent / 200);
	if (!f)
		return;
	f->title = findings_text(
		all,
		"core %u was busy for %u s in which %.0f %% of its clock ticks never came: "
		"interrupts off, steal or a paused hypervisor",
		cpu, facts->missing_ticks_seconds, facts->missing_ticks_percent);
	finding_evidence(all, f, findings_text(all, "core %u missing ticks", cpu),
			 findings_text(all, "%.0f", facts->missing_ticks_percent), "%",
			 findings_text(all, "zscope flame --cpu %u --top", cpu), facts->to_ns);
	if (facts->steal_cpu == cpu && facts->steal_percent > 0)
		share_evidence(facts, all, f, "steal", cpu, facts->steal_percent);
}

void judge_softirq_storm(const struct facts *facts, const struct thresholds *t,
			 struct findings *all)
{
	if (facts->soft_percent < t->soft_percent)
		return;
	struct finding *f = core_finding(facts, all, "softirq-storm", ROLE_CAUSE, facts->soft_cpu,
					 facts->soft_percent / 100);
	if (!f)
		return;
	f->title = findings_text(all, "core %u spends %.0f %% in interrupts", facts->soft_cpu,
				 facts->soft_percent);
	share_evidence(facts, all, f, "soft + irq", facts->soft_cpu, facts->soft_percent);
}

void judge_kubepods_weight(const struct facts *facts, const struct thresholds *t,
			   struct findings *all)
{
	if (facts->kubepods_weight_ratio < t->kubepods_weight_ratio)
		return;
	/* A ratio harms nobody by itself: some core must be full. */
	if (!facts->cores.len && !facts->resets.len)
		return;
	struct finding *f = findings_add(all, "kubepods-weight", PROOF_COUNTER, ROLE_CAUSE);
	if (!f)
		return;
	f->from_ns = facts->from_ns;
	f->to_ns = facts->to_ns;
	f->weight = 0.3;
	f->title = findings_text(
		all,
		"pods weigh %.0f times as much as system.slice: kernel threads and agents wait "
		"behind them",
		facts->kubepods_weight_ratio);
	finding_evidence(all, f, "kubepods / system.slice",
			 findings_text(all, "%.1f", facts->kubepods_weight_ratio), NULL,
			 "cpu.weight or cpu.shares of both", facts->to_ns);
}

void judge_cpu_throttled(const struct facts *facts, const struct thresholds *t,
			 struct findings *all)
{
	vec_foreach (&facts->quotas, q) {
		if (q->throttled_percent < t->throttled_percent)
			continue;
		struct finding *f = findings_add(all, "cpu-throttled", PROOF_COUNTER, ROLE_SYMPTOM);
		if (!f)
			return;
		f->place.cgroup = q->cgroup;
		f->place.unit = q->unit;
		f->from_ns = facts->from_ns;
		f->to_ns = facts->to_ns;
		f->weight = q->throttled_percent / 200;
		f->title = findings_text(
			all, "the CPU quota of %s throttles it in %.0f %% of its periods",
			q->cgroup, q->throttled_percent);
		finding_evidence(all, f, "throttled periods",
				 findings_text(all, "%.1f", q->throttled_percent), "%",
				 findings_text(all, "cpu.stat of %s", q->cgroup), facts->to_ns);
	}
}

void judge_throttle_meets_reclaim(const struct facts *facts, const struct thresholds *t,
				  struct findings *all)
{
	vec_foreach (&facts->quotas, q) {
		if (isnan(q->reclaim_correlation) ||
		    q->reclaim_correlation < t->coincide_correlation ||
		    q->throttled_percent < t->throttled_percent)
			continue;
		struct finding *f =
			findings_add(all, "throttle-meets-reclaim", PROOF_INFERRED, ROLE_SYMPTOM);
		if (!f)
			return;
		f->place.cgroup = q->cgroup;
		f->from_ns = facts->from_ns;
		f->to_ns = facts->to_ns;
		f->weight = 0.2;
		f->title = findings_text(
			all,
			"throttling of %s and direct reclaim coincide in time (correlation %.2f); "
			"the quota throttles, reclaim only burns it",
			q->cgroup, q->reclaim_correlation);
		finding_evidence(all, f, "correlation over seconds",
				 findings_text(all, "%.2f", q->reclaim_correlation), NULL,
				 "cpu.stat and /proc/vmstat, second by second", facts->to_ns);
	}
}

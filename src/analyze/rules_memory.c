/* What piles up and what it costs: zombies, their walk, reclaim, OOM. */
#include <inttypes.h>
#include <math.h>

#include "rule.h"
#include "timefmt.h"

/* What zombies cost depends on the kernel: docs/DIAGNOSIS.md, "memcg-zombies". */
static const char *zombie_cost(const struct facts *f)
{
	unsigned version = f->kernel_major * 1000 + f->kernel_minor;

	if (!f->kernel_major)
		return "what they cost depends on the kernel, which is not known";
	if (f->memory_v1 && version <= 5007)
		return "on this kernel every read of memory.numa_stat walks all of them times the "
		       "possible CPUs";
	if (version <= 7000)
		return "on this kernel they cost RAM and slow down reclaim";
	return "this kernel moves their pages to the parent: look at what still refers to them";
}

void judge_memcg_zombies(const struct facts *facts, const struct thresholds *t,
			 struct findings *all)
{
	double ratio = facts->alive ? (double)facts->tracked / (double)facts->alive : 0;
	bool many = facts->dying >= t->zombies_count && ratio >= t->zombies_ratio;
	bool growing = facts->have & (FACT_HISTORY | FACT_CHURN) &&
		       facts->dying >= t->zombies_count / 10 &&
		       facts->zombies_per_hour >= t->zombies_per_hour;

	if (!many && !growing)
		return;
	struct finding *f = findings_add(all, "memcg-zombies", PROOF_COUNTER, ROLE_LINK);
	if (!f)
		return;
	const struct fact_owner *first = facts->owners.len ? &facts->owners.items[0] : NULL;
	if (first && first->count * 2 > facts->dying) {
		f->place.unit = first->unit;
		f->place.container = first->container;
		f->place.cgroup = first->owner;
	}
	f->to_ns = facts->to_ns;
	f->weight = (double)facts->dying / ((double)facts->dying + 10000);
	f->title = findings_text(all,
				 "%" PRIu64 " zombie memory cgroups (%" PRIu64 " tracked, %" PRIu64
				 " in use)%s%s; %s",
				 facts->dying, facts->tracked, facts->alive,
				 first ? ", most of them from " : "", first ? first->owner : "",
				 zombie_cost(facts));
	finding_evidence(all, f, "tracked", findings_text(all, "%" PRIu64, facts->tracked), NULL,
			 facts->memory_v1 ? "/proc/cgroups, memory" : "cgroup.stat at the root",
			 facts->to_ns);
	finding_evidence(all, f, "live", findings_text(all, "%" PRIu64, facts->alive), NULL,
			 "directories of the memory hierarchy", facts->to_ns);
	if (facts->zombie_bytes)
		finding_evidence(all, f, "pinned",
				 findings_text(all, "%" PRIu64, facts->zombie_bytes), "B",
				 "zscope zombies", facts->to_ns);
	if (growing)
		finding_evidence(
			all, f, "growth", findings_text(all, "%.0f", facts->zombies_per_hour),
			"1/h", facts->have & FACT_HISTORY ? "the recording" : "cgroup tracepoints",
			facts->to_ns);
	if (first)
		finding_evidence(all, f, first->owner, findings_text(all, "%" PRIu64, first->count),
				 NULL, "zscope zombies", facts->to_ns);
}

void judge_accumulating_state(const struct facts *facts, const struct thresholds *t,
			      struct findings *all)
{
	if (facts->zombies_per_hour < t->zombies_per_hour || facts->dying < t->zombies_count)
		return;
	double days = (double)facts->dying / facts->zombies_per_hour / 24;
	/* Only what began after the boot is reset by one. */
	if (!facts->uptime_s || days * 86400 > (double)facts->uptime_s * 1.5)
		return;
	struct finding *f = findings_add(all, "accumulating-state", PROOF_INFERRED, ROLE_SYMPTOM);
	if (!f)
		return;
	f->to_ns = facts->to_ns;
	f->weight = 0.3;
	f->title = findings_text(
		all,
		"a reboot would fix it for about %.1f days, the time in which as many zombies "
		"come back",
		days);
	finding_evidence(all, f, "growth", findings_text(all, "%.0f", facts->zombies_per_hour),
			 "1/h", "the recording", facts->to_ns);
}

/* The profile has the word about a process that it saw often enough, and about one that it never
 * saw walk. */
static bool walk_is_for_the_profile(const struct facts *facts, const struct thresholds *t,
				    uint64_t pid)
{
	if (!(facts->have & FACT_PROFILE))
		return false;
	vec_foreach (&facts->walkers, w)
		if (w->pid == pid)
			return w->samples >= t->walk_least_samples;
	return true;
}

/* No samples, or too few: a read of memory.stat is slow here, and somebody who spends his time in
 * the kernel has it open. */
static void walk_by_reads(const struct facts *facts, const struct thresholds *t,
			  struct findings *all)
{
	if (!(facts->have & FACT_READS) || facts->walk_read_ns < t->walk_read_ns)
		return;
	vec_foreach (&facts->readers, r) {
		char span[TIMEFMT_MAX];
		if (!r->seen || !r->file || r->sys_percent < t->walk_sys_percent ||
		    walk_is_for_the_profile(facts, t, r->pid))
			continue;
		struct finding *f = findings_add(all, "memcg-walk-cost", PROOF_INFERRED, ROLE_LINK);
		if (!f)
			return;
		timefmt_span(span, facts->walk_read_ns);
		f->place.pid = r->pid;
		f->place.comm = r->comm;
		f->place.unit = r->unit;
		f->from_ns = facts->from_ns;
		f->to_ns = facts->to_ns;
		f->weight = r->sys_percent > 100 ? 1 : r->sys_percent / 100;
		f->title = findings_text(all,
					 "%s (pid %" PRIu64
					 ") spends %.0f %% of a core in the kernel and reads %s; "
					 "one such read takes %s here, because it walks memory "
					 "cgroups",
					 r->comm, r->pid, r->sys_percent, r->file, span);
		finding_evidence(all, f,
				 findings_text(all, "one read of %s", facts->walk_read_file),
				 findings_text(all, "%.1f", (double)facts->walk_read_ns / 1e6),
				 "ms", "zscope zombies: cost", facts->to_ns);
		finding_evidence(all, f, "time in the kernel",
				 findings_text(all, "%.0f", r->sys_percent), "% of a core",
				 findings_text(all, "/proc/%" PRIu64 "/stat: stime", r->pid),
				 facts->to_ns);
		finding_evidence(all, f, findings_text(all, "has %s open", r->file),
				 findings_text(all, "%u of %u looks", r->seen, r->looked), NULL,
				 findings_text(all, "/proc/%" PRIu64 "/fd", r->pid), facts->to_ns);
	}
}

void judge_memcg_walk_cost(const struct facts *facts, const struct thresholds *t,
			   struct findings *all)
{
	walk_by_reads(facts, t, all);
	if (!(facts->have & FACT_PROFILE))
		return;
	vec_foreach (&facts->walkers, w) {
		if (w->samples < t->walk_least_samples || w->share < t->walk_share_percent)
			continue;
		struct finding *f = findings_add(all, "memcg-walk-cost", PROOF_SAMPLED, ROLE_LINK);
		if (!f)
			return;
		f->place.pid = w->pid;
		f->place.comm = w->comm;
		f->place.unit = w->unit;
		f->place.cpu = (int)w->cpu;
		f->from_ns = w->from_ns;
		f->to_ns = w->to_ns;
		f->weight = w->share / 100;
		f->title = findings_text(all,
					 "%s (pid %" PRIu64
					 ") spends %.0f %% of its time in %s, walking memory "
					 "cgroups",
					 w->comm, w->pid, w->share, w->function);
		finding_evidence(
			all, f, findings_text(all, "samples in %s", w->function),
			findings_text(all, "%.1f", w->share), "%",
			findings_text(all, "zscope flame --pid %" PRIu64 " --kernel --top", w->pid),
			w->to_ns);
		finding_evidence(all, f, "samples", findings_text(all, "%" PRIu64, w->samples),
				 NULL, "the profile of the window", w->to_ns);
	}
}

void judge_reclaim_pressure(const struct facts *facts, const struct thresholds *t,
			    struct findings *all)
{
	bool direct = facts->direct_pages_per_s >= t->direct_pages_per_s;
	bool kswapd = facts->kswapd_pages_per_s >= t->kswapd_pages_per_s;
	bool pressure =
		facts->have & FACT_PRESSURE && (facts->psi_memory_some >= t->psi_memory_some ||
						facts->psi_memory_full >= t->psi_memory_full);

	/* Scanning alone is the kernel's ordinary work: somebody must wait for it. A cgroup at its
	 * own limit does not show in the global counters, only in the waiting. */
	if (facts->have & FACT_PRESSURE ? !pressure : !(direct || kswapd))
		return;
	struct finding *f = findings_add(all, "reclaim-pressure", PROOF_COUNTER, ROLE_SYMPTOM);
	if (!f)
		return;
	f->from_ns = facts->from_ns;
	f->to_ns = facts->to_ns;
	f->weight = facts->psi_memory_some / 100;
	if (direct || kswapd)
		f->title = findings_text(
			all, "tasks wait for memory: %s reclaim scans %.0f pages a second",
			direct ? "direct" : "kswapd's",
			direct ? facts->direct_pages_per_s : facts->kswapd_pages_per_s);
	else
		f->title = findings_text(
			all,
			"tasks wait for memory %.0f %% of the time, inside a cgroup at its limit: "
			"global reclaim stands still",
			facts->psi_memory_some);
	finding_evidence(all, f, "pgscan_direct",
			 findings_text(all, "%.0f", facts->direct_pages_per_s), "pages/s",
			 "/proc/vmstat", facts->to_ns);
	finding_evidence(all, f, "pgscan_kswapd",
			 findings_text(all, "%.0f", facts->kswapd_pages_per_s), "pages/s",
			 "/proc/vmstat", facts->to_ns);
	if (pressure)
		finding_evidence(all, f, "memory pressure, some",
				 findings_text(all, "%.1f", facts->psi_memory_some), "%",
				 "/proc/pressure/memory", facts->to_ns);
}

void judge_oom_kill(const struct facts *facts, const struct thresholds *t, struct findings *all)
{
	(void)t;
	vec_foreach (&facts->ooms, o) {
		struct finding *f = findings_add(
			all, "oom-kill", o->trusted ? PROOF_KERNEL : PROOF_CLAIMED, ROLE_SYMPTOM);
		if (!f)
			return;
		f->place.comm = o->victim;
		f->place.cgroup = o->cgroup;
		f->from_ns = f->to_ns = o->time_ns;
		f->weight = 0.6;
		f->title = findings_text(all, "the kernel killed %s for lack of memory%s%s",
					 o->victim, o->memcg ? " in cgroup " : "",
					 o->memcg && o->cgroup ? o->cgroup : "");
		finding_evidence(all, f, "killed", o->victim, NULL, "zscope events --id oom-kill",
				 o->time_ns);
	}
}

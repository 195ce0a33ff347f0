/* What broke the network: resets, and the core that starved the queue. */
#include <inttypes.h>
#include <string.h>

#include "rule.h"
#include "timefmt.h"

static const char *reset_title(struct findings *all, const struct fact_reset *r, unsigned times)
{
	char when[TIMEFMT_MAX];
	const char *queue = r->queue >= 0 ? findings_text(all, ", queue %d", r->queue) : "";
	const char *cause = r->cause ? findings_text(all, ": %s", r->cause) : "";
	const char *often =
		times > 1 ? findings_text(all, "%u times before it was watched, last ", times) : "";

	return findings_text(all, "%s reset itself %sat %s%s%s%s", r->iface, often,
			     timefmt_clock(when, r->time_ns), queue, cause,
			     r->injected ? " (injected by the lab)" : "");
}

/* Resets of one NIC that lie before what was watched are one finding: nothing can be joined to them
 * singly. */
static unsigned reset_earlier(const struct facts *facts, const struct fact_reset *r,
			      bool *ret_is_last)
{
	unsigned times = 0;

	*ret_is_last = true;
	vec_foreach (&facts->resets, o) {
		if (o->time_ns >= facts->from_ns || strcmp(o->iface, r->iface) != 0 ||
		    o->injected != r->injected)
			continue;
		times++;
		if (o->time_ns > r->time_ns || (o->time_ns == r->time_ns && o > r))
			*ret_is_last = false;
	}
	return times;
}

/* At the queue and core of a reset, in its time. */
static struct finding *reset_finding(struct findings *all, const struct fact_reset *r,
				     const char *rule, enum proof proof, enum finding_role role)
{
	struct finding *f = findings_add(all, rule, proof, role);

	if (!f)
		return NULL;
	f->place.nic = r->iface;
	f->place.queue = r->queue;
	f->place.cpu = r->cpu;
	f->from_ns = r->from_ns;
	f->to_ns = r->time_ns;
	f->injected = r->injected;
	return f;
}

void judge_net_driver_reset(const struct facts *facts, const struct thresholds *t,
			    struct findings *all)
{
	(void)t;
	vec_foreach (&facts->resets, r) {
		bool is_last;
		unsigned times = reset_earlier(facts, r, &is_last);
		if (r->time_ns < facts->from_ns && !is_last)
			continue;
		struct finding *f =
			reset_finding(all, r, "net-driver-reset",
				      r->trusted ? PROOF_KERNEL : PROOF_CLAIMED, ROLE_SYMPTOM);
		if (!f)
			return;
		f->weight = r->loop ? 1 : 0.9;
		f->title = reset_title(all, r, r->time_ns < facts->from_ns ? times : 1);
		finding_evidence(all, f, "kernel line", r->cause ? r->cause : "reset", NULL,
				 findings_text(all, "zscope events --id net-driver-reset%s%s",
					       r->event ? " --event " : "",
					       r->event ? r->event : ""),
				 r->time_ns);
	}
}

void judge_queue_starved(const struct facts *facts, const struct thresholds *t,
			 struct findings *all)
{
	(void)t;
	vec_foreach (&facts->resets, r) {
		if (r->starved != STARVED_CORE || r->cpu < 0)
			continue;
		struct finding *f =
			reset_finding(all, r, "queue-starved", PROOF_INFERRED, ROLE_LINK);
		if (!f)
			return;
		f->weight = 0.8;
		f->title = findings_text(
			all,
			"queue %d of %s had its interrupt on core %d, which had no time for it",
			r->queue, r->iface, r->cpu);
		finding_evidence(all, f, "interrupt's core", findings_text(all, "%d", r->cpu), NULL,
				 findings_text(all, "/proc/irq/%d/effective_affinity_list", r->irq),
				 r->from_ns);
		if (r->evidence)
			finding_evidence(
				all, f, "proof", r->evidence, NULL,
				"interrupt count, NET_RX and ksoftirqd of that core over the stall",
				r->from_ns);
	}
}

void judge_log_flood(const struct facts *facts, const struct thresholds *t, struct findings *all)
{
	if (facts->log_lines_per_s < t->log_lines_per_s)
		return;
	struct finding *f = findings_add(
		all, "log-flood", facts->log_injected ? PROOF_CLAIMED : PROOF_COUNTER, ROLE_CAUSE);
	if (!f)
		return;
	f->from_ns = facts->from_ns;
	f->to_ns = facts->to_ns;
	f->weight = facts->serial_console ? 0.6 : 0.2;
	f->injected = facts->log_injected;
	f->title = findings_text(
		all, "%.0f lines a second in the kernel's log%s%s", facts->log_lines_per_s,
		facts->serial_console ? ", and a serial console is attached, which holds the core "
					"for every line it prints"
				      : "",
		facts->log_injected ? " (injected by the lab)" : "");
	finding_evidence(all, f, "lines", findings_text(all, "%.0f", facts->log_lines_per_s), "1/s",
			 "/dev/kmsg sequence numbers", facts->to_ns);
	if (facts->log_injected)
		finding_evidence(all, f, "written by", "the lab", NULL,
				 "dmesg: the lines begin with zscope-lab:", facts->to_ns);
}

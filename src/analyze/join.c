#include "join.h"

#include <string.h>

#include "auto.h"

/* A stall is noticed up to a watchdog period after it ended; see docs/DIAGNOSIS.md. */
static const uint64_t join_slack_ns = UINT64_C(10000000000);
/* A minority owner does not explain a pile. */
static const double join_owner_share = 0.2;

static const struct mechanism table[] = {
	{ "unit-misfit", "unit-crash-loop",
	  "a unit whose needs this host cannot meet fails at every start", PLACE_UNIT, false },
	{ "unit-misfit", "container-churn",
	  "a unit whose needs this host cannot meet restarts its container", PLACE_UNIT, false },
	{ "unit-crash-loop", "container-churn",
	  "every start of the unit creates the container anew", PLACE_UNIT, false },
	{ "unit-crash-loop", "cgroup-churn", "every restart makes and removes a memory cgroup",
	  PLACE_UNIT, false },
	{ "container-churn", "cgroup-churn", "every container makes and removes a memory cgroup",
	  PLACE_OWNER, false },
	{ "unit-crash-loop", "memcg-zombies",
	  "every restart leaves a memory cgroup that its page cache pins", PLACE_OWNER, false },
	{ "container-churn", "memcg-zombies",
	  "every container leaves a memory cgroup that its page cache pins", PLACE_OWNER, false },
	{ "cgroup-churn", "memcg-zombies", "removed cgroups stay while pages are charged to them",
	  PLACE_OWNER, false },
	{ "memcg-zombies", "accumulating-state",
	  "zombies stay until what pins them goes or the host reboots", PLACE_HOST, false },
	{ "memcg-zombies", "memcg-walk-cost",
	  "the kernel visits zombies too when it walks memory cgroups", PLACE_HOST, false },
	{ "memcg-zombies", "reclaim-pressure", "reclaim visits every zombie on its way", PLACE_HOST,
	  false },
	{ "memcg-walk-cost", "core-saturated", "the walk runs on one core without a break",
	  PLACE_PROCESS, true },
	{ "memcg-walk-cost", "reclaim-pressure", "the walk is reclaim's own", PLACE_HOST, true },
	{ "rt-hog", "core-saturated", "a real-time task yields to nobody", PLACE_CPU, true },
	{ "softirq-storm", "core-saturated", "interrupt work comes before tasks", PLACE_CPU, true },
	{ "core-saturated", "queue-starved",
	  "the queue's completions wait for the core that its interrupt is on", PLACE_CPU, true },
	{ "steal", "queue-starved", "while the hypervisor holds the core, nothing runs on it",
	  PLACE_CPU, true },
	{ "rt-hog", "queue-starved", "ksoftirqd is no real-time task and waits", PLACE_CPU, true },
	{ "kubepods-weight", "queue-starved",
	  "ksoftirqd competes with pods at a fraction of their weight", PLACE_HOST, true },
	{ "log-flood", "queue-starved",
	  "printing to a serial console holds the core with interrupts off", PLACE_HOST, true },
	{ "queue-starved", "net-driver-reset",
	  "the driver resets when completions stay out for seconds", PLACE_QUEUE, true },
	{ "core-saturated", "net-driver-reset",
	  "the driver resets when its core has no time for completions", PLACE_CPU, true },
	{ "oom-kill", "unit-crash-loop", "the kernel kills the unit's process at every start",
	  PLACE_UNIT, false },
	{ "cpu-throttled", "throttle-meets-reclaim", "one half of the coincidence", PLACE_HOST,
	  true },
	{ "reclaim-pressure", "throttle-meets-reclaim", "the other half of the coincidence",
	  PLACE_HOST, true },
};

const struct mechanism *mechanisms_all(size_t *ret_len)
{
	*ret_len = ARRAY_LEN(table);
	return table;
}

static enum holds same_text(const char *a, const char *b)
{
	if (!a || !b)
		return HOLDS_UNKNOWN;
	return strcmp(a, b) == 0 ? HOLDS_YES : HOLDS_NOT;
}

static enum holds same_number(long long a, long long b, long long none)
{
	if (a == none || b == none)
		return HOLDS_UNKNOWN;
	return a == b ? HOLDS_YES : HOLDS_NOT;
}

/* "/docker" is above "/docker/abc" and is named in "docker containers under /docker". */
static bool owner_names(const struct fact_owner *o, const char *directory)
{
	const char *at = directory && *directory ? strstr(o->owner, directory) : NULL;
	if (!at)
		return false;
	char next = at[strlen(directory)];
	return next == '\0' || next == '/' || next == ' ';
}

static const char *churn_owner(const struct facts *facts, const char *parent)
{
	vec_foreach (&facts->churn, c)
		if (parent && strcmp(c->parent, parent) == 0)
			return c->owner;
	return NULL;
}

static bool owner_is(const struct facts *facts, const struct fact_owner *o, const struct place *p)
{
	const char *churned = churn_owner(facts, p->cgroup);

	return same_text(o->unit, p->unit) == HOLDS_YES ||
	       same_text(o->container, p->container) == HOLDS_YES ||
	       same_text(o->owner, p->unit) == HOLDS_YES ||
	       same_text(o->owner, churned) == HOLDS_YES || owner_names(o, p->cgroup);
}

/* Directories, of which one may be seen from inside a cgroup namespace, where paths lose their
 * beginning: then nothing is proved, and nothing contradicts. */
static enum holds same_directory(const char *a, const char *b)
{
	enum holds same = same_text(a, b);

	if (same != HOLDS_NOT)
		return same;
	size_t n = strlen(a), m = strlen(b);
	const char *longer = n > m ? a : b, *shorter = n > m ? b : a;
	size_t more = n > m ? n - m : m - n;
	bool ends = *shorter == '/' && shorter[1] && strcmp(longer + more, shorter) == 0;
	return ends ? HOLDS_UNKNOWN : HOLDS_NOT;
}

/* Do the cause's unit, container or directory own a good part of the zombies? */
static enum holds place_owner(const struct facts *facts, const struct finding *maker,
			      const struct finding *effect)
{
	struct place of_container = maker->place;
	const struct place *cause = &maker->place;
	uint64_t owned = 0;

	if (strcmp(effect->rule, "memcg-zombies") != 0) { /* churn: the directories must meet */
		enum holds unit = same_text(cause->unit, effect->place.unit);
		if (unit == HOLDS_YES)
			return unit;
		enum holds directory = same_directory(cause->cgroup, effect->place.cgroup);
		return directory == HOLDS_YES ? directory : unit == HOLDS_NOT ? unit : directory;
	}
	if (!(facts->have & FACT_CENSUS) || !facts->owners.len)
		return HOLDS_UNKNOWN;
	/* what its maker left in cgroups of its own is not the container's */
	if (strcmp(maker->rule, "container-churn") == 0 && (cause->container || cause->cgroup)) {
		of_container.unit = NULL;
		cause = &of_container;
	}
	vec_foreach (&facts->owners, o)
		if (owner_is(facts, o, cause))
			owned += o->count;
	return (double)owned >= join_owner_share * (double)facts->dying ? HOLDS_YES : HOLDS_NOT;
}

static enum holds place_holds(const struct facts *facts, enum place_kind kind,
			      const struct finding *cause, const struct finding *effect)
{
	const struct place *a = &cause->place, *b = &effect->place;
	enum holds cpu = same_number(a->cpu, b->cpu, -1);

	switch (kind) {
	case PLACE_UNIT:
		/* A unit's own cgroup bears its name. Others' are its doing only through
		 * containers, and where those are known they are a link of their own. */
		if (strcmp(effect->rule, "cgroup-churn") == 0 && !b->unit &&
		    facts->have & FACT_CONTAINERS)
			return HOLDS_NOT;
		return same_text(a->unit, b->unit);
	case PLACE_OWNER:
		return place_owner(facts, cause, effect);
	case PLACE_CPU:
		return cpu;
	case PLACE_PROCESS: {
		enum holds pid = same_number((long long)a->pid, (long long)b->pid, 0);
		return pid != HOLDS_UNKNOWN ? pid : cpu;
	}
	case PLACE_QUEUE: {
		enum holds queue = same_number(a->queue, b->queue, -1);
		return same_text(a->nic, b->nic) == HOLDS_NOT ? HOLDS_NOT : queue;
	}
	case PLACE_HOST:
		return HOLDS_YES;
	}
	return HOLDS_UNKNOWN;
}

static enum holds time_holds(const struct mechanism *m, const struct finding *cause,
			     const struct finding *effect)
{
	uint64_t begins = effect->from_ns ? effect->from_ns : effect->to_ns;

	if (!begins || (!cause->from_ns && !cause->to_ns))
		return HOLDS_UNKNOWN;
	if (m->overlap && cause->to_ns && cause->to_ns + join_slack_ns < begins)
		return HOLDS_NOT;
	uint64_t ends = effect->to_ns ? effect->to_ns : begins;
	if (cause->from_ns > ends)
		return HOLDS_NOT;
	if (!cause->from_ns)
		return HOLDS_UNKNOWN;
	return HOLDS_YES;
}

static double join_confidence(enum holds place, enum holds time)
{
	if (place == HOLDS_YES)
		return time == HOLDS_YES ? 0.97 : 0.85;
	return time == HOLDS_YES ? 0.60 : 0.55;
}

bool join_judge(const struct facts *facts, const struct finding *cause,
		const struct finding *effect, struct join *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		if (strcmp(table[i].cause, cause->rule) != 0 ||
		    strcmp(table[i].effect, effect->rule) != 0)
			continue;
		enum holds place = place_holds(facts, table[i].place, cause, effect);
		enum holds time = time_holds(&table[i], cause, effect);
		if (place == HOLDS_NOT || time == HOLDS_NOT)
			return false;
		/* Nothing but "it could be": that is no join. */
		if (place == HOLDS_UNKNOWN && time == HOLDS_UNKNOWN)
			return false;
		ret->how = table[i].how;
		ret->place = place;
		ret->time = time;
		ret->confidence = join_confidence(place, time);
		return true;
	}
	return false;
}

const char *join_what_tells_apart(const struct facts *facts, struct findings *all,
				  const struct explanation *first, const struct explanation *other)
{
	const struct finding *a = &all->list.items[first->findings.items[0]];
	const struct finding *b = &all->list.items[other->findings.items[0]];

	if (!(facts->have & FACT_CENSUS) && (a->place.unit || b->place.unit))
		return findings_text(
			all, "the census would tell whose zombies they are: zscope zombies");
	if (a->place.cpu >= 0 && b->place.cpu >= 0 && a->place.cpu != b->place.cpu)
		return findings_text(
			all, "they concern different cores: zscope flame --cpu %d, --cpu %d",
			a->place.cpu, b->place.cpu);
	if (a->place.unit && b->place.unit)
		return findings_text(all,
				     "stop %s for a minute and watch: zscope validate --for 1m",
				     b->place.unit);
	return findings_text(all, "%s goes away when the first is cured, or it stands alone",
			     b->rule);
}

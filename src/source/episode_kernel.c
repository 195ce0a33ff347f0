#include <inttypes.h>
#include <string.h>

#include "auto.h"
#include "episode_private.h"
#include "text.h"

/* Kinds that a kernel release, a stack or a list of locks can belong to. */
enum {
	KERNEL_REPORTS = 1 << EPISODE_NET | 1 << EPISODE_LOCKUP | 1 << EPISODE_RCU |
			 1 << EPISODE_HUNG | 1 << EPISODE_OOM | 1 << EPISODE_WORKQUEUE,
	/* A task name is at most 15 bytes, a workqueue worker's a little more. */
	KERNEL_COMM_MAX = 64,
};

static bool kernel_is(const struct episode_line *line, const char *event)
{
	return strcmp(line->hit->pattern->event, event) == 0;
}

static bool kernel_id(const struct episode_line *line, const char *id)
{
	return strcmp(line->hit->pattern->id, id) == 0;
}

static void kernel_copy_all(struct episode *ep, const struct pattern_hit *hit)
{
	for (size_t i = 0; i < hit->pattern->n_fields; i++) {
		const char *name = hit->pattern->fields[i];
		if (!hit->values[i].at || text_ends(name, "_text") || strcmp(name, "prefix") == 0)
			continue;
		episode_set(ep, name, "%.*s", (int)hit->values[i].len, hit->values[i].at);
	}
}

/* CPU#2 stuck for 23s! Later reports of the same task and core are the same lock-up. */
static void kernel_lockup(struct episodes *e, const struct episode_line *line)
{
	const struct pattern_hit *hit = line->hit;
	uint64_t cpu, seconds, kernel, softirq, hardirq;
	char key[24];

	if (hit->pattern->role == PATTERN_HEAD) {
		if (!episode_number(hit, "cpu", &cpu) || !episode_number(hit, "seconds", &seconds))
			return;
		snprintf(key, sizeof(key), "cpu%" PRIu64, cpu);
		struct episode *ep = episode_find(e, EPISODE_LOCKUP, episode_trust(line), key);
		if (!ep) {
			ep = episode_begin(e, EPISODE_LOCKUP, key, line);
			kernel_copy_all(ep, hit);
		}
		ep->reports++;
		episode_max(ep, "seconds", seconds);
		if (line->clock != EPISODE_NO_TIME && line->time_ns > seconds * NS_PER_S)
			episode_set(ep, "stall_start_ns", "%" PRIu64,
				    line->time_ns - seconds * NS_PER_S);
		episode_add(e, ep, line);
		return;
	}
	struct episode *ep = episode_latest(e, episode_trust(line), 1 << EPISODE_LOCKUP);
	if (!ep)
		return;
	episode_add(e, ep, line);
	if (episode_number(hit, "system", &kernel) && episode_number(hit, "softirq", &softirq) &&
	    episode_number(hit, "hardirq", &hardirq)) {
		ep->util_rows++;
		ep->util_system += kernel;
		ep->util_softirq += softirq;
		ep->util_hardirq += hardirq;
	}
}

static void kernel_rcu(struct episodes *e, const struct episode_line *line)
{
	const struct pattern_hit *hit = line->hit;
	struct episode *ep = episode_latest(e, episode_trust(line), 1 << EPISODE_RCU);
	const char *at;
	size_t len;

	if (hit->pattern->role == PATTERN_HEAD) {
		if (!ep || episode_gap(ep, line) > NS_PER_S) {
			if (ep)
				episode_close(e, ep);
			ep = episode_begin(e, EPISODE_RCU, "rcu", line);
		}
		episode_copy(ep, hit, "flavor", "flavor");
	}
	if (!ep)
		return;
	episode_add(e, ep, line);
	if (kernel_id(line, "rcu_cpu_row") || kernel_id(line, "rcu_self") ||
	    kernel_id(line, "rcu_detected")) {
		if (pattern_value(hit, "cpu", &at, &len) || pattern_value(hit, "cpus", &at, &len))
			episode_more(ep, "cpus", at, len);
		episode_copy(ep, hit, "softirq_then", "softirq_then");
		episode_copy(ep, hit, "softirq_now", "softirq_now");
	}
	episode_copy(ep, hit, "jiffies", "jiffies");
	episode_copy(ep, hit, "by_cpu", "detected_by");
	episode_copy(ep, hit, "system_ms", "system_ms");
	episode_copy(ep, hit, "softirq_ms", "softirq_ms");
	episode_copy(ep, hit, "hardirq_ms", "hardirq_ms");
	if (kernel_id(line, "rcu_gp_starved"))
		episode_copy(ep, hit, "cpu", "gp_kthread_cpu");
	if (kernel_id(line, "rcu_nmi_idle"))
		episode_set(ep, "idle", "true");
	if (memmem(line->text, line->len, "false positive", 14))
		episode_set(ep, "false_positive", "true");
}

static void kernel_hung(struct episodes *e, const struct episode_line *line)
{
	struct episode *ep = episode_latest(e, episode_trust(line), 1 << EPISODE_HUNG);
	enum pattern_role role = line->hit->pattern->role;

	if (role == PATTERN_HEAD || (role == PATTERN_HINT && !ep)) {
		if (ep)
			episode_close(e, ep);
		ep = episode_begin(e, EPISODE_HUNG, "hung", line);
		if (role == PATTERN_HINT)
			episode_set(ep, "header", "missing");
		e->last_hung = ep;
	}
	if (!ep)
		return;
	episode_add(e, ep, line);
	if (role != PATTERN_HINT)
		kernel_copy_all(ep, line->hit);
}

static void kernel_oom(struct episodes *e, const struct episode_line *line)
{
	const struct pattern_hit *hit = line->hit;
	enum pattern_role role = hit->pattern->role;
	struct episode *ep = episode_latest(e, episode_trust(line), 1 << EPISODE_OOM);
	bool killed = ep && episode_get(ep, "victim_pid");

	if (ep && (role == PATTERN_HEAD || (killed && role != PATTERN_ROW))) {
		episode_close(e, ep);
		ep = NULL;
	}
	if (!ep && kernel_id(line, "oom_reaper"))
		return;
	if (!ep)
		ep = episode_begin(e, EPISODE_OOM, "oom", line);
	episode_add(e, ep, line);
	switch (role) {
	case PATTERN_HEAD:
		episode_copy(ep, hit, "comm", "invoked_by");
		episode_copy(ep, hit, "gfp", "gfp");
		episode_copy(ep, hit, "order", "order");
		break;
	case PATTERN_PICK:
		episode_copy(ep, hit, "pid", "candidate_pid");
		episode_copy(ep, hit, "comm", "candidate_comm");
		break;
	case PATTERN_KILLED:
		episode_copy(ep, hit, "pid", "victim_pid");
		episode_copy(ep, hit, "comm", "victim_comm");
		episode_copy(ep, hit, "anon_kb", "anon_kb");
		break;
	default:
		episode_copy(ep, hit, "memcg", "memcg");
		episode_copy(ep, hit, "oom_memcg", "memcg");
		episode_copy(ep, hit, "task_memcg", "task_memcg");
		episode_copy(ep, hit, "constraint", "constraint");
		episode_copy(ep, hit, "limit_kb", "limit_kb");
		episode_copy(ep, hit, "cgroup", "memcg");
	}
	if (memmem(line->text, line->len, "emory cgroup", 12) ||
	    memmem(line->text, line->len, "CONSTRAINT_MEMCG", 16))
		episode_set(ep, "scope", "memcg");
	else if (kernel_id(line, "oom_global_killed") || kernel_id(line, "oom_old_pick") ||
		 memmem(line->text, line->len, ",global_oom", 11))
		episode_set(ep, "scope", "node");
}

static void kernel_workqueue(struct episodes *e, const struct episode_line *line)
{
	struct episode *ep;

	if (line->hit->pattern->role == PATTERN_HEAD) {
		ep = episode_begin(e, EPISODE_WORKQUEUE, "wq", line);
		kernel_copy_all(ep, line->hit);
	} else {
		ep = episode_latest(e, episode_trust(line), 1 << EPISODE_WORKQUEUE);
		if (!ep)
			return;
		episode_copy(ep, line->hit, "func", "in_flight");
		episode_copy(ep, line->hit, "pid", "in_flight_pid");
	}
	episode_add(e, ep, line);
}

/* Events of one line; those about the same thing, close together, are counted. */
static void kernel_plain(struct episodes *e, const struct episode_line *line)
{
	static const char *const about[] = { "iface", "func",        "cgroup", "comm", "table",
					     "guid",  "clocksource", "irq",    "file" };
	const struct pattern_hit *hit = line->hit;
	char key[160];
	size_t n = (size_t)snprintf(key, sizeof(key), "%s", hit->pattern->id);
	const char *at;
	size_t len;
	uint64_t count;

	for (size_t i = 0; i < ARRAY_LEN(about) && n < sizeof(key); i++)
		if (pattern_value(hit, about[i], &at, &len))
			n += (size_t)snprintf(key + n, sizeof(key) - n, "|%.*s", (int)len, at);
	struct episode *ep = episode_find(e, EPISODE_PLAIN, episode_trust(line), key);
	if (!ep)
		ep = episode_begin(e, EPISODE_PLAIN, key, line);
	episode_add(e, ep, line);
	if (episode_number(hit, "count", &count)) {
		char first[24];
		snprintf(first, sizeof(first), "%" PRIu64, count);
		episode_first(ep, "count_first", first, strlen(first));
	}
	kernel_copy_all(ep, hit);
	if (ep->lines == 1)
		episode_set(ep, "line", "%.*s", (int)MIN_OF(line->len, 190u), line->text);
}

/* Locks held while something hangs. When the NIC's own reset holds them, the hang is its
 * consequence. */
static void kernel_lock(struct episodes *e, const struct episode_line *line)
{
	struct episode *hung = episode_latest(e, episode_trust(line), 1 << EPISODE_HUNG);
	struct episode *net = episode_latest(e, episode_trust(line), 1 << EPISODE_NET);
	const char *lock, *func;
	size_t lock_len, func_len;

	if (!pattern_value(line->hit, "lock", &lock, &lock_len) ||
	    !pattern_value(line->hit, "func", &func, &func_len)) {
		if (hung)
			episode_copy(hung, line->hit, "comm", "lock_holder");
		return;
	}
	const char *arrow = memmem(lock, lock_len, "->", 2);
	if (arrow) {
		lock_len -= (size_t)(arrow + 2 - lock);
		lock = arrow + 2;
	}
	if (memchr(lock, '(', lock_len) || memchr(lock, ')', lock_len))
		return; /* (wq_completion)..., a pseudo lock */
	if (hung)
		episode_more(hung, "locks", lock, lock_len);
	if (!net)
		return;
	const struct episode_nic *nic = &e->nics[net->nic];
	size_t prefix = strcspn(nic->driver, "_");
	if (prefix > 2 && func_len > prefix && memcmp(func, nic->driver, prefix) == 0 &&
	    memmem(func, func_len, "reset", 5)) {
		episode_set(net, "reset_holds_locks", "true");
		if (hung)
			episode_set(hung, "because", "net-driver-reset %s", nic->iface);
	}
	if (episode_get(net, "reset_holds_locks"))
		episode_more(net, "locks", lock, lock_len);
}

static void kernel_context_line(struct episodes *e, const struct episode_line *line)
{
	struct episode *ep = episode_latest(e, episode_trust(line), KERNEL_REPORTS);
	const char *at;
	size_t len;

	if (line->hit->pattern->role == PATTERN_LOCK) {
		kernel_lock(e, line);
		return;
	}
	if (line->hit->pattern->role == PATTERN_TASK) {
		if (e->last_hung && pattern_value(line->hit, "comm", &at, &len)) {
			while (len && at[len - 1] == ' ')
				len--;
			episode_first(e->last_hung, "comm", at, len);
			if (pattern_value(line->hit, "pid", &at, &len))
				episode_first(e->last_hung, "pid", at, len);
		}
		return;
	}
	if (!ep || episode_gap(ep, line) > 5 * NS_PER_S)
		return;
	if (pattern_value(line->hit, "kernel", &at, &len))
		episode_first(ep, "kernel", at, len);
	if (pattern_value(line->hit, "hardware", &at, &len))
		episode_first(ep, "hardware", at, len);
}

/* A WARN right behind a Tx timeout happened in its recovery. */
static bool kernel_warning_of_reset(struct episodes *e, const struct episode_line *line)
{
	struct episode *net = episode_latest(e, episode_trust(line), 1 << EPISODE_NET);

	if (!net || episode_gap(net, line) > 5 * NS_PER_S)
		return false;
	episode_copy(net, line->hit, "func", "recovery_warning");
	return true;
}

void episode_kernel_line(struct episodes *e, const struct episode_line *line)
{
	const char *comm;
	size_t len;
	struct episode_line copy = *line;

	/* no kernel task has so long a name: somebody else's text got into the line */
	if (pattern_value(line->hit, "comm", &comm, &len) && len > KERNEL_COMM_MAX)
		copy.trusted = false;
	line = &copy;
	if (kernel_is(line, "kernel-context"))
		kernel_context_line(e, line);
	else if (kernel_is(line, "soft-lockup"))
		kernel_lockup(e, line);
	else if (kernel_is(line, "rcu-stall"))
		kernel_rcu(e, line);
	else if (kernel_is(line, "hung-task"))
		kernel_hung(e, line);
	else if (kernel_is(line, "oom-kill"))
		kernel_oom(e, line);
	else if (kernel_is(line, "wq-lockup"))
		kernel_workqueue(e, line);
	else if (!kernel_is(line, "kernel-warning") || !kernel_warning_of_reset(e, line))
		kernel_plain(e, line);
}

/* One frame of the stack under a hung-task report: " blk_mq_get_tag+0x117/0x300". */
void episode_kernel_context(struct episode *ep, const char *text, size_t len)
{
	static const char *const skip[] = { "__schedule", "schedule", "io_schedule",
					    "schedule_timeout", "schedule_preempt_disabled" };
	static const char *const storage[] = { "blk_",       "bio_",  "submit_bio", "nvme",
					       "jbd2",       "ext4_", "xfs_",       "wait_on_page",
					       "folio_wait", "btrfs_" };
	char line[128], name[64];
	int used = 0;

	text_copy_n(line, sizeof(line), text, len);
	if (sscanf(line, " %63[A-Za-z0-9_.]+0x%n", name, &used) != 1 || !used || line[0] != ' ')
		return;
	for (size_t i = 0; i < ARRAY_LEN(skip); i++)
		if (strcmp(name, skip[i]) == 0)
			return;
	episode_first(ep, "waits_in", name, strlen(name));
	for (size_t i = 0; i < ARRAY_LEN(storage); i++)
		if (text_starts(name, storage[i]))
			episode_set(ep, "waits_for", "storage");
}

static void kernel_finish_lockup(struct episode *ep, char *text, size_t size)
{
	const char *what = "";

	if (ep->util_rows) {
		uint64_t kernel = ep->util_system / ep->util_rows;
		uint64_t irqs = (ep->util_softirq + ep->util_hardirq) / ep->util_rows;
		episode_set(ep, "system_percent", "%" PRIu64, kernel);
		episode_set(ep, "irq_percent", "%" PRIu64, irqs);
		episode_set(ep, "samples", "%" PRIu64, ep->util_rows);
		episode_set(ep, "held_by", irqs >= 50 ? "interrupts" : "kernel-code");
		what = irqs >= 50 ? ", an interrupt storm" : ", kernel code, not interrupts";
	}
	snprintf(text, size, "CPU %s locked up for %s s by %s (pid %s)%s", episode_get(ep, "cpu"),
		 episode_get(ep, "seconds"),
		 episode_get(ep, "comm") ? episode_get(ep, "comm") : "?",
		 episode_get(ep, "pid") ? episode_get(ep, "pid") : "?", what);
}

static void kernel_finish_rcu(struct episode *ep, char *text, size_t size)
{
	bool doubtful = episode_get(ep, "false_positive") || episode_get(ep, "idle");
	const char *cpus = episode_get(ep, "cpus");

	episode_set(ep, "confidence", doubtful ? "low" : "high");
	if (doubtful) {
		ep->severity = EVENT_WARN;
		episode_set(ep, "likely", "guest was paused or migrated");
	}
	snprintf(text, size, "RCU stall on CPU %s%s", cpus ? cpus : "?",
		 doubtful ? ", doubted by the kernel itself: the guest was paused or migrated"
			  : "");
}

static void kernel_finish_oom(struct episode *ep, char *text, size_t size)
{
	const char *victim = episode_get(ep, "victim_pid"), *scope = episode_get(ep, "scope");
	const char *comm = episode_get(ep, "victim_comm"), *memcg = episode_get(ep, "memcg");

	episode_set(ep, "killed", victim ? "true" : "false");
	ep->severity = victim ? EVENT_CRIT : EVENT_WARN;
	if (!victim)
		snprintf(text, size, "out of memory, called by %s; no kill is seen",
			 episode_get(ep, "invoked_by") ? episode_get(ep, "invoked_by") : "?");
	else
		snprintf(text, size, "out of memory (%s%s%s): killed %s (pid %s)",
			 scope ? scope : "scope unknown", memcg ? " " : "", memcg ? memcg : "",
			 comm ? comm : "?", victim);
}

void episode_kernel_finish(struct episode *ep, char *text, size_t size)
{
	const char *line = episode_get(ep, "line"), *count = episode_get(ep, "count");

	switch (ep->kind) {
	case EPISODE_LOCKUP:
		kernel_finish_lockup(ep, text, size);
		break;
	case EPISODE_RCU:
		kernel_finish_rcu(ep, text, size);
		break;
	case EPISODE_OOM:
		kernel_finish_oom(ep, text, size);
		break;
	case EPISODE_HUNG:
		episode_set(ep, "state", "D");
		snprintf(text, size, "task %s (pid %s) blocked for more than %s s%s%s%s",
			 episode_get(ep, "comm") ? episode_get(ep, "comm") : "?",
			 episode_get(ep, "pid") ? episode_get(ep, "pid") : "?",
			 episode_get(ep, "seconds") ? episode_get(ep, "seconds") : "?",
			 episode_get(ep, "waits_in") ? ", waits in " : "",
			 episode_get(ep, "waits_in") ? episode_get(ep, "waits_in") : "",
			 episode_get(ep, "because") ? ", because of a NIC reset" : "");
		break;
	case EPISODE_WORKQUEUE:
		snprintf(text, size, "workqueue pool of CPU %s stuck for %s s%s%s",
			 episode_get(ep, "cpus"), episode_get(ep, "seconds"),
			 episode_get(ep, "in_flight") ? ", running " : "",
			 episode_get(ep, "in_flight") ? episode_get(ep, "in_flight") : "");
		break;
	default:
		if (count && strcmp(ep->id, "wq-hog") == 0)
			episode_set(ep, "count_last", "%s", count);
		snprintf(text, size, "%s", line ? line : ep->pattern->meaning);
	}
}

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "episode_private.h"
#include "text.h"

#define ROLE(r) (UINT32_C(1) << (r))

enum {
	/* Lines that open a reset, and those that prove it has begun. */
	NET_OPENING = ROLE(PATTERN_LATE) | ROLE(PATTERN_WATCHDOG) | ROLE(PATTERN_TIMEOUT) |
		      ROLE(PATTERN_CAUSE) | ROLE(PATTERN_LOST) | ROLE(PATTERN_HANG),
	NET_BEGUN = ROLE(PATTERN_START) | ROLE(PATTERN_STAT) | ROLE(PATTERN_DONE) |
		    ROLE(PATTERN_FAILED),
};

/* Ages beyond this are a broken stamp (a driver once reported 80,692,736 ms). */
#define NET_MOST_STALL_MS (UINT64_C(3600) * 1000)
/* As many resets in so short a time are a loop. */
enum { NET_LOOP_RESETS = 3, NET_LOOP_S = 300 };

/* What each stated cause is called by ENA's reset reasons; others have no number. */
static const struct {
	const char *cause, *class;
	int reason; /* -1 = none */
} classes[] = {
	{ "suspected-poll-starvation", "POLL_STARVATION", 15 },
	{ "missed-completions", "MISS_TX_CMPL", 3 },
	{ "missing-interrupt", "MISS_INTERRUPT", 14 },
	{ "keep-alive", "KEEP_ALIVE_TO", 1 },
	{ "admin-queue", "ADMIN_TO", 2 },
	{ "bad-descriptor", "INV_REQ_ID", 5 },
	{ "device-request", "DEVICE_REQUEST", 19 },
	{ "netdev-watchdog", "OS_NETDEV_WD", 10 },
	{ "link-loss", "LINK_LOSS", -1 },
	{ "hardware-hang", "HW_HANG", -1 },
	{ "pfc-storm", "PFC_STORM", -1 },
	{ "firmware", "FIRMWARE", -1 },
	{ "host-request", "HOST_REQUEST", -1 },
};

static bool net_same(const char *a, const char *b)
{
	return *a && strcmp(a, b) == 0;
}

/* Lines name a NIC by address, by interface, or by both: learn both and join by either. */
static unsigned net_nic(struct episodes *e, const struct episode_line *line)
{
	struct episode_nic want = { .trust = episode_trust(line) };
	const char *at;
	size_t len;

	if (pattern_value(line->hit, "pci", &at, &len) ||
	    pattern_value(line->hit, "bus_id", &at, &len))
		text_copy_n(want.address, sizeof(want.address), at, len);
	if (pattern_value(line->hit, "iface", &at, &len)) {
		size_t skip = *at == ' ';
		text_copy_n(want.iface, sizeof(want.iface), at + skip, len - skip);
	}
	if (pattern_value(line->hit, "driver", &at, &len))
		text_copy_n(want.driver, sizeof(want.driver), at, len);
	else if (*want.address && strchr(line->hit->pattern->regex, ' '))
		text_copy_n(want.driver, sizeof(want.driver), line->text,
			    strcspn(line->text, " \n"));
	unsigned found = EPISODE_MOST_NICS;
	for (unsigned i = 0; i < e->n_nics && found == EPISODE_MOST_NICS; i++)
		if (e->nics[i].trust == want.trust && (net_same(want.address, e->nics[i].address) ||
						       (net_same(want.iface, e->nics[i].iface) &&
							!(*want.address && *e->nics[i].address))))
			found = i;
	if (found == EPISODE_MOST_NICS) {
		found = e->n_nics < EPISODE_MOST_NICS ? (unsigned)e->n_nics++ : 0;
		e->nics[found] = want;
	}
	struct episode_nic *nic = &e->nics[found];
	if (*want.address)
		text_copy(nic->address, sizeof(nic->address), want.address);
	if (*want.iface)
		text_copy(nic->iface, sizeof(nic->iface), want.iface);
	if (*want.driver && !*nic->driver)
		text_copy(nic->driver, sizeof(nic->driver), want.driver);
	return found;
}

/* Whether the line begins another reset than the one that is open. */
static bool net_is_new(const struct episode *ep, const struct episode_line *line)
{
	enum pattern_role role = line->hit->pattern->role;
	uint64_t gap = episode_gap(ep, line);
	uint64_t queue;
	const char *seen = episode_get(ep, "queues");
	char number[24];

	if (!(NET_OPENING & ROLE(role)))
		return ep->done && role == PATTERN_START;
	if (ep->roles & NET_BEGUN || ep->failed)
		return true;
	switch (role) {
	case PATTERN_WATCHDOG:
		if (!(ep->roles & ROLE(role)))
			return gap > 10 * NS_PER_S;
		if (!episode_number(line->hit, "queue", &queue))
			return true;
		snprintf(number, sizeof(number), "%" PRIu64, queue);
		return gap > NS_PER_S || !seen || strstr(seen, number);
	case PATTERN_TIMEOUT:
		return ep->opened_ns && line->clock == ep->clock &&
		       line->time_ns > ep->opened_ns + 10 * NS_PER_S;
	case PATTERN_HANG:
		return gap > 5 * NS_PER_S;
	case PATTERN_CAUSE:
		return ep->roles & ROLE(role) && gap > 2 * NS_PER_S;
	default:
		return false;
	}
}

static void net_cause(struct episode *ep, const struct pattern *p)
{
	static const enum pattern_role ranks[] = { /* weakest first */
						   PATTERN_TIMEOUT, PATTERN_HANG, PATTERN_LOST,
						   PATTERN_CAUSE, PATTERN_VERDICT
	};
	unsigned rank = 1;

	if (!*p->cause)
		return;
	for (unsigned i = 0; i < ARRAY_LEN(ranks); i++)
		if (ranks[i] == p->role)
			rank = i + 2;
	if (rank >= ep->cause_rank) {
		ep->cause_rank = rank;
		ep->cause = p->cause;
	}
}

static void net_stall(struct episode *ep, const struct episode_line *line, const char *key,
		      uint64_t ms)
{
	uint64_t up_ms = line->mono_ns / NS_PER_MS;

	if (ms > NET_MOST_STALL_MS || (up_ms && ms > up_ms)) {
		episode_set(ep, "bogus_age_ms", "%" PRIu64, ms);
		return;
	}
	char first[32];
	snprintf(first, sizeof(first), "%" PRIu64, ms);
	if (strcmp(key, "napi_age_ms") == 0)
		episode_first(ep, "napi_age_first_ms", first, strlen(first));
	episode_max(ep, key, ms);
	episode_max(ep, "stall_ms", ms);
	if (line->clock != EPISODE_NO_TIME && line->time_ns > ms * NS_PER_MS) {
		uint64_t start = line->time_ns - ms * NS_PER_MS;
		if (!ep->stall_start_ns || start < ep->stall_start_ns)
			ep->stall_start_ns = start;
	}
}

static void net_ages(struct episode *ep, const struct episode_line *line)
{
	static const struct {
		const char *field, *key;
		uint64_t per_ms;
	} ages[] = {
		{ "napi_age_us", "napi_age_ms", 1000 }, { "napi_age_ms", "napi_age_ms", 1 },
		{ "stalled_ms", "stalled_ms", 1 },      { "age_us", "stalled_ms", 1000 },
		{ "age_ms", "keepalive_age_ms", 1 },    { "pending_ms", "pending_ms", 1 },
	};
	uint64_t n;

	for (size_t i = 0; i < ARRAY_LEN(ages); i++)
		if (episode_number(line->hit, ages[i].field, &n))
			net_stall(ep, line, ages[i].key, n / ages[i].per_ms);
	if (episode_number(line->hit, "intr_age_ms", &n))
		episode_max(ep, "intr_age_ms", n);
	if (episode_number(line->hit, "threshold_us", &n))
		episode_set(ep, "threshold_ms", "%" PRIu64, n / 1000);
	if (episode_number(line->hit, "timeout_ms", &n))
		episode_set(ep, "threshold_ms", "%" PRIu64, n);
}

/* One line of the statistics dump: the counters that tell of resets, and those of the queue. */
static void net_statistic(struct episode *ep, const struct pattern_hit *hit)
{
	static const struct {
		const char *name, *key;
	} kept[] = {
		{ "tx_timeout", "stat_tx_timeout" },
		{ "wd_expired", "stat_wd_expired" },
		{ "suspend", "stat_suspend" },
		{ "resume", "stat_resume" },
		{ "interface_up", "stat_interface_up" },
		{ "interface_down", "stat_interface_down" },
		{ "admin_q_pause", "stat_admin_q_pause" },
		{ "reset_fail", "stat_reset_fail" },
		{ "total_resets", "stat_total_resets" },
		{ "suspected_poll_starvation", "stat_suspected_poll_starvation" },
	};
	char name[64];
	const char *at, *queue = episode_get(ep, "queue");
	size_t len;

	if (!pattern_value(hit, "name", &at, &len))
		return;
	text_copy_n(name, sizeof(name), at, len);
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		if (strcmp(name, kept[i].name) == 0)
			episode_copy(ep, hit, "value", kept[i].key);
	char prefix[48];
	snprintf(prefix, sizeof(prefix), "queue_%s_tx_", queue ? queue : "?");
	if (strncmp(name, prefix, strlen(prefix)) == 0) {
		if (strcmp(name + strlen(prefix), "doorbells") == 0)
			episode_copy(ep, hit, "value", "stat_queue_tx_doorbells");
		else if (strcmp(name + strlen(prefix), "missed_tx") == 0)
			episode_copy(ep, hit, "value", "stat_queue_tx_missed_tx");
	}
}

static void net_rings(struct episode *ep, const struct pattern_hit *hit)
{
	uint64_t cons, prod;
	const char *at;
	size_t len;

	if (episode_hex(hit, "cons", &cons) && episode_hex(hit, "prod", &prod)) {
		if (pattern_value(hit, "ring", &at, &len) && cons != prod)
			episode_more(ep, "rings_stuck", at, len);
		else if (pattern_value(hit, "sqn", &at, &len))
			episode_set(ep, "outstanding", "%" PRIu64, (prod - cons) & 0xffff);
	}
	if (episode_hex(hit, "irq_hex", &cons))
		episode_set(ep, "irq", "%" PRIu64, cons);
	if (episode_hex(hit, "tdh", &cons) && episode_hex(hit, "tdt", &prod)) {
		episode_set(ep, "tdh", "0x%" PRIx64, cons);
		episode_set(ep, "tdt", "0x%" PRIx64, prod);
	}
}

static void net_fields(struct episode *ep, const struct episode_line *line)
{
	static const char *const same[] = {
		"napi_sched",     "napi_cpu",   "timer_cpu",    "lost", "limit", "status", "level",
		"driver_version", "ntc",        "hwb",          "ntu",  "tail",  "head",   "rc",
		"cond",           "longest_ms", "sched_changes"
	};
	const struct pattern_hit *hit = line->hit;
	const char *at;
	size_t len;
	uint64_t n;

	if (pattern_value(hit, "queue", &at, &len)) {
		episode_first(ep, "queue", at, len);
		episode_more(ep, "queues", at, len);
	}
	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		episode_copy(ep, hit, same[i], same[i]);
	net_ages(ep, line);
	net_rings(ep, hit);
	/* ENA 2.17.0 prints the two numbers of this line the wrong way round */
	episode_copy(ep, hit, "cpu_printed_as_qid", "napi_cpu");
	if (pattern_value(hit, "index", &at, &len)) {
		episode_first(ep, "index_first", at, len);
		episode_copy(ep, hit, "index", "index_last");
	}
	if (hit->pattern->role == PATTERN_LATE)
		ep->late += episode_number(hit, "count", &n) ? n : 1;
	else if (episode_number(hit, "count", &n) && hit->pattern->role == PATTERN_DETAIL)
		episode_max(ep, "packets_lost", n);
}

static void net_phase(struct episode *ep, const struct pattern_hit *hit)
{
	const char *at;
	size_t len;

	if (!pattern_value(hit, "phase", &at, &len) && !pattern_value(hit, "what", &at, &len))
		return;
	ep->reset_stated = true;
	if (memmem(at, len, "fail", 4) || memmem(at, len, "never", 5) ||
	    memmem(at, len, "Never", 5))
		ep->failed = true;
	else if (memmem(at, len, "succeeded", 9) || memmem(at, len, "came out", 8))
		ep->done = true;
}

static void net_role(struct episodes *e, struct episode *ep, const struct episode_line *line)
{
	const struct pattern_hit *hit = line->hit;
	uint64_t status;

	switch (hit->pattern->role) {
	case PATTERN_STAT:
		net_statistic(ep, hit);
		ep->reset_stated = true;
		return;
	case PATTERN_START:
		ep->reset_stated = true;
		break;
	case PATTERN_DONE:
		ep->reset_stated = ep->done = true;
		ep->failed |= episode_number(hit, "status", &status)
				      ? status != 0
				      : episode_get(ep, "status") != NULL;
		break;
	case PATTERN_FAILED:
		ep->reset_stated = ep->failed = true;
		break;
	case PATTERN_PHASE:
		net_phase(ep, hit);
		break;
	case PATTERN_HANG:
		ep->reports++;
		e->last_hang = ep;
		break;
	default:
		if (memmem(line->text, line->len, "reset", 5) ||
		    memmem(line->text, line->len, "Reset", 5))
			ep->reset_stated = true;
	}
}

/* Body lines of a hang report: "  TDH   <13>", "  TDH, TDT   <93>, <9d>", "  Tx Queue   <0>". */
static void net_body_line(struct episode *ep, const char *p, size_t len)
{
	char line[96];
	unsigned a, b;
	int used = 0;

	text_copy_n(line, sizeof(line), p, len);
	if (sscanf(line, " TDH, TDT <%x>, <%x%n", &a, &b, &used) == 2 && used) {
		episode_set(ep, "tdh", "0x%x", a);
		episode_set(ep, "tdt", "0x%x", b);
	} else if (sscanf(line, " TDH <%x%n", &a, &used) == 1 && line[used] == '>') {
		episode_set(ep, "tdh", "0x%x", a);
	} else if (sscanf(line, " TDT <%x%n", &a, &used) == 1 && line[used] == '>') {
		episode_set(ep, "tdt", "0x%x", a);
	} else if (sscanf(line, " Tx Queue <%u%n", &a, &used) == 1 && line[used] == '>') {
		char queue[16];
		snprintf(queue, sizeof(queue), "%u", a);
		episode_first(ep, "queue", queue, strlen(queue));
	}
}

void episode_net_context(struct episode *ep, const char *text, size_t len)
{
	for (const char *p = text, *end = text + len; p < end;) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		net_body_line(ep, p, (size_t)((newline ? newline : end) - p));
		p = newline ? newline + 1 : end;
	}
}

void episode_net_line(struct episodes *e, const struct episode_line *line)
{
	enum pattern_role role = line->hit->pattern->role;
	char key[16];

	if (role == PATTERN_IGNORE)
		return;
	if (role == PATTERN_BODY) {
		if (e->last_hang && e->last_hang->trust == episode_trust(line)) {
			episode_add(e, e->last_hang, line);
			episode_net_context(e->last_hang, line->text, line->len);
		}
		return;
	}
	unsigned nic = net_nic(e, line);
	const char *version;
	size_t len;
	if (pattern_value(line->hit, "driver_version", &version, &len))
		text_copy_n(e->nics[nic].version, sizeof(e->nics[nic].version), version, len);
	if (role == PATTERN_PROBE)
		return;
	snprintf(key, sizeof(key), "%u", nic);
	struct episode *ep = episode_find(e, EPISODE_NET, episode_trust(line), key);
	if (ep && net_is_new(ep, line)) {
		episode_close(e, ep);
		ep = NULL;
	}
	if (!ep) {
		if (role == PATTERN_DETAIL)
			return; /* belongs to a reset that nothing else tells of */
		ep = episode_begin(e, EPISODE_NET, key, line);
		ep->nic = nic;
	}
	episode_add(e, ep, line);
	if (NET_OPENING & ROLE(role))
		ep->opened_ns = line->time_ns;
	net_fields(ep, line);
	net_cause(ep, line->hit->pattern);
	net_role(e, ep, line);
	if (role == PATTERN_HANG) /* in /dev/kmsg the whole report is one record */
		episode_net_context(ep, line->text, line->len);
	if (role == PATTERN_DONE)
		episode_close(e, ep);
}

/* The driver says "lost completions"; NAPI that was due and did not run says why. */
static const char *net_class(struct episode *ep, int *ret_reason)
{
	uint64_t age = 0, threshold = 5000;
	const char *sched = episode_get(ep, "napi_sched");
	bool silent = episode_get_u64(ep, "napi_age_ms", &age);

	episode_get_u64(ep, "threshold_ms", &threshold);
	silent = silent && age >= threshold && (!sched || strcmp(sched, "1") == 0);
	if (silent && ep->cause && strcmp(ep->cause, "netdev-watchdog") == 0)
		ep->cause = "suspected-poll-starvation";
	*ret_reason = -1;
	for (size_t i = 0; ep->cause && i < ARRAY_LEN(classes); i++) {
		if (strcmp(classes[i].cause, ep->cause) != 0)
			continue;
		*ret_reason = classes[i].reason;
		if (silent && strcmp(ep->cause, "missed-completions") == 0)
			return "POLL_STARVATION";
		return classes[i].class;
	}
	return NULL;
}

static void net_history(struct episode *ep, struct episode_nic *nic)
{
	uint64_t now = ep->first_ns, n = 0, from = now, downs = 0;

	if (ep->clock == EPISODE_NO_TIME)
		return;
	for (uint64_t i = nic->n_resets; i > 0 && nic->n_resets - i < EPISODE_HISTORY; i--) {
		uint64_t at = nic->resets[(i - 1) % EPISODE_HISTORY];
		if (at > now || now - at > NET_LOOP_S * NS_PER_S)
			break;
		from = at;
		n++;
	}
	if (nic->n_resets) {
		uint64_t last = nic->resets[(nic->n_resets - 1) % EPISODE_HISTORY];
		if (now >= last)
			episode_set(ep, "since_previous_s", "%.1f", (double)(now - last) / 1e9);
	}
	nic->resets[nic->n_resets++ % EPISODE_HISTORY] = now;
	if (n) {
		episode_set(ep, "resets_in_series", "%" PRIu64, n + 1);
		episode_set(ep, "series_span_s", "%.1f", (double)(now - from) / 1e9);
	}
	bool loop = n + 1 >= NET_LOOP_RESETS;
	/* the driver's own counters reach back to boot */
	if ((episode_get_u64(ep, "stat_wd_expired", &downs) ||
	     episode_get_u64(ep, "stat_interface_down", &downs)) &&
	    downs >= 10 && ep->last_mono_ns) {
		double every_s = (double)ep->last_mono_ns / 1e9 / (double)downs;
		episode_set(ep, "resets_since_boot", "%" PRIu64, downs);
		episode_set(ep, "uptime_h", "%.1f", (double)ep->last_mono_ns / 3600e9);
		episode_set(ep, "seconds_per_reset", "%.1f", every_s);
		loop |= every_s * NET_LOOP_RESETS <= NET_LOOP_S;
	}
	if (loop) {
		episode_set(ep, "loop", "true");
		ep->severity = EVENT_CRIT;
	}
}

static void net_describe(const struct episode *ep, const struct episode_nic *nic, bool reset,
			 char *text, size_t size)
{
	const char *queue = episode_get(ep, "queues"), *version = episode_get(ep, "driver_version");
	uint64_t ms;
	size_t n = (size_t)snprintf(text, size, "%s %s: ", *nic->driver ? nic->driver : "NIC",
				    *nic->iface ? nic->iface : nic->address);

	n += (size_t)snprintf(text + n, size - n, "%s",
			      reset ? "driver reset"
			      : ep->roles == ROLE(PATTERN_LATE)
				      ? "late Tx completions, no reset seen"
				      : "Tx timeout, no reset");
	if (queue)
		n += (size_t)snprintf(text + n, size - n, ", Tx queue %s", queue);
	if (ep->cause)
		n += (size_t)snprintf(text + n, size - n, ", %s", ep->cause);
	if (episode_get_u64(ep, "stall_ms", &ms))
		n += (size_t)snprintf(text + n, size - n, ", stalled %" PRIu64 ".%03" PRIu64 " s",
				      ms / 1000, ms % 1000);
	if (version)
		n += (size_t)snprintf(text + n, size - n, ", driver %s", version);
	if (reset)
		snprintf(text + n, size - n, ", %s",
			 ep->failed ? "failed"
			 : ep->done ? "finished"
				    : "end not seen");
}

void episode_net_finish(struct episodes *e, struct episode *ep, char *text, size_t size)
{
	struct episode_nic *nic = &e->nics[ep->nic];
	bool virtio = strcmp(nic->driver, "virtio_net") == 0;
	bool pfc = ep->cause && strcmp(ep->cause, "pfc-storm") == 0;
	/* the driver looked, found work waiting and did it: an interrupt was lost, nothing reset */
	bool kicked = !ep->reset_stated && ep->roles & ROLE(PATTERN_VERDICT) && ep->cause &&
		      strcmp(ep->cause, "missing-interrupt") == 0 &&
		      !(ep->roles & (ROLE(PATTERN_LOST) | ROLE(PATTERN_CAUSE)));
	bool reset = !pfc && !kicked &&
		     (ep->reset_stated ||
		      (!virtio && ep->roles & ~(ROLE(PATTERN_LATE) | ROLE(PATTERN_VERDICT) |
						ROLE(PATTERN_DETAIL))));
	int reason;

	const char *class = net_class(ep, &reason);
	if (*nic->driver)
		episode_set(ep, "driver", "%s", nic->driver);
	if (*nic->iface)
		episode_set(ep, "iface", "%s", nic->iface);
	if (*nic->address)
		episode_set(ep, "pci", "%s", nic->address);
	if (*nic->version)
		episode_set(ep, "driver_version", "%s", nic->version);
	if (ep->cause)
		episode_set(ep, "cause", "%s", ep->cause);
	else if (reset)
		episode_set(ep, "cause", "not-stated");
	if (class)
		episode_set(ep, "class", "%s", class);
	if (reason >= 0 && strcmp(nic->driver, "ena") == 0)
		episode_set(ep, "reason", "%d", reason);
	if (ep->late)
		episode_set(ep, "late_completions", "%" PRIu64, ep->late);
	if (ep->reports)
		episode_set(ep, "reports", "%" PRIu64, ep->reports);
	if (ep->stall_start_ns)
		episode_set(ep, "stall_start_ns", "%" PRIu64, ep->stall_start_ns);
	bool hang = !ep->reset_stated && ep->roles & ROLE(PATTERN_HANG);
	if (hang)
		reset = false;
	episode_set(ep, "reset", "%s",
		    !reset             ? "no"
		    : ep->failed       ? "failed"
		    : ep->done         ? "finished"
		    : ep->reset_stated ? "begun"
				       : "implied");
	ep->id = reset                             ? "net-driver-reset"
		 : hang                            ? "net-tx-hang"
		 : ep->roles == ROLE(PATTERN_LATE) ? "net-tx-late"
						   : "net-tx-timeout";
	ep->severity = reset || hang ? EVENT_CRIT : EVENT_WARN;
	if (ep->cause && strcmp(ep->cause, "link-loss") == 0)
		ep->severity = EVENT_WARN;
	if (reset)
		net_history(ep, nic);
	net_describe(ep, nic, reset, text, size);
}

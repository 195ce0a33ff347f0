/* Shared by the files of episode_*.c; nobody else includes it. */
#pragma once

#include "episode.h"
#include "timefmt.h"

enum {
	EPISODE_MOST_OPEN = 64,
	EPISODE_MOST_FIELDS = 40,
	EPISODE_VALUE_MAX = 200,
	EPISODE_MOST_NICS = 64,
	EPISODE_HISTORY = 64,
};

enum episode_kind {
	EPISODE_NET,
	EPISODE_LOCKUP,
	EPISODE_RCU,
	EPISODE_HUNG,
	EPISODE_OOM,
	EPISODE_WORKQUEUE,
	EPISODE_PLAIN,
};

enum episode_trust { EPISODE_UNTRUSTED, EPISODE_TRUSTED, EPISODE_INJECTED };

struct episode_field {
	const char *key; /* a constant, or of the pattern table */
	char value[EPISODE_VALUE_MAX];
};

struct episode {
	bool open;
	enum episode_kind kind;
	enum episode_trust trust;
	enum event_severity severity;
	const char *id;
	const struct pattern *pattern; /* of the first line */
	char key[160];
	enum episode_clock clock;
	uint64_t first_ns, last_ns, last_mono_ns, max_lag_ns;
	uint64_t order, tag;
	uint64_t lines;
	uint32_t roles; /* bit per enum pattern_role seen */
	struct episode_field fields[EPISODE_MOST_FIELDS];
	size_t n_fields;
	/* network */
	unsigned nic;
	const char *cause; /* the strongest stated */
	unsigned cause_rank;
	bool reset_stated, failed, done;
	uint64_t stall_start_ns; /* 0 = unknown */
	uint64_t late, reports;
	uint64_t opened_ns; /* time of the last line that could open a reset */
	/* lock-up */
	uint64_t util_rows, util_system, util_softirq, util_hardirq;
};

struct episode_nic {
	enum episode_trust trust;
	char driver[32], address[64], iface[32], version[32];
	uint64_t resets[EPISODE_HISTORY]; /* times; the newest at (n_resets - 1) % HISTORY */
	uint64_t n_resets;
};

struct episodes {
	episode_emit_fn emit;
	void *arg;
	uint64_t order;
	uint64_t now_ns; /* of the last line with a time */
	struct episode list[EPISODE_MOST_OPEN];
	struct episode_nic nics[EPISODE_MOST_NICS];
	size_t n_nics;
	struct episode *last_hung, *last_hang; /* whom context lines belong to */
};

/* The open episode with this kind, trust and key; NULL = none. */
struct episode *episode_find(struct episodes *e, enum episode_kind kind, enum episode_trust trust,
			     const char *key);
/* Begin one; the longest quiet is emitted to make room. */
struct episode *episode_begin(struct episodes *e, enum episode_kind kind, const char *key,
			      const struct episode_line *line);
/* Count the line into the episode. */
void episode_add(struct episodes *e, struct episode *ep, const struct episode_line *line);
/* Nanoseconds since the episode's last line; 0 when either has no time. */
uint64_t episode_gap(const struct episode *ep, const struct episode_line *line);
void episode_close(struct episodes *e, struct episode *ep);
/* The most recent open episode that a banner or stack can belong to. */
struct episode *episode_latest(struct episodes *e, enum episode_trust trust, uint32_t kinds);
enum episode_trust episode_trust(const struct episode_line *line);

/* Fields: set replaces, first keeps what is there, more appends to a comma list without repetition,
 * max keeps the larger number. */
void episode_set(struct episode *ep, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void episode_first(struct episode *ep, const char *key, const char *bytes, size_t len);
void episode_more(struct episode *ep, const char *key, const char *bytes, size_t len);
void episode_max(struct episode *ep, const char *key, uint64_t value);
const char *episode_get(const struct episode *ep, const char *key); /* NULL = absent */
bool episode_get_u64(const struct episode *ep, const char *key, uint64_t *ret);
/* A captured number of the line. */
bool episode_number(const struct pattern_hit *hit, const char *field, uint64_t *ret);
bool episode_hex(const struct pattern_hit *hit, const char *field, uint64_t *ret);
/* Copy a captured field under the same or another name, when present. */
void episode_copy(struct episode *ep, const struct pattern_hit *hit, const char *field,
		  const char *key);

void episode_net_line(struct episodes *e, const struct episode_line *line);
void episode_net_context(struct episode *ep, const char *text, size_t len);
/* Fields, severity and text of a finished one. text has at least 400 bytes. */
void episode_net_finish(struct episodes *e, struct episode *ep, char *text, size_t size);
void episode_kernel_line(struct episodes *e, const struct episode_line *line);
void episode_kernel_context(struct episode *ep, const char *text, size_t len);
void episode_kernel_finish(struct episode *ep, char *text, size_t size);

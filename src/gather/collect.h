/* Gathers the facts of a window of a recording for the rules. A live `why` records into a private
 * store first, so that there is one path for now and for last night. Each collect_*.c reads one
 * kind of frame; what is missing stays missing. */
#pragma once

#include "arena.h"
#include "buf.h"
#include "census_summary.h"
#include "err.h"
#include "facts.h"
#include "queue_proof.h"
#include "stream.h"
#include "unknowns.h"

struct collected {
	struct facts facts;
	struct arena strings; /* owns every string in facts */
	struct unknowns unknown;
	char host[256], kernel[256]; /* of the host that was recorded; "" = not known */
};

struct collect_window {
	struct stream *stream;
	uint64_t from_ns, to_ns;
	const char *history_dir; /* the recorder's store, for growth over a day; NULL = none */
	const struct root *live; /* the host itself, when the window is now; NULL = a recording */
};

/* All of them. A source that cannot be read is named in ret->unknown. */
int collect_facts(const struct collect_window *w, struct collected *ret, struct err *err);
void collected_free(struct collected *c);

/* A captured host (`zscope capture`): its two readings, units, census and kernel log. */
int collect_captured(const struct root *root, struct collected *c, struct err *err);
int collect_captured_ticks(const struct root *root, struct collected *c, struct err *err);

/* One kind each; they set their bits in facts.have. */
int collect_ticks(const struct collect_window *w, struct collected *c, struct err *err);
int collect_profile(const struct collect_window *w, struct collected *c, struct err *err);
int collect_events(const struct collect_window *w, struct collected *c, struct err *err);
int collect_churn(const struct collect_window *w, struct collected *c, struct err *err);
int collect_units(const struct collect_window *w, struct collected *c, struct err *err);
int collect_census(const struct collect_window *w, struct collected *c, struct err *err);
int collect_history(const struct collect_window *w, struct collected *c, struct err *err);
int collect_weight(const struct collect_window *w, struct collected *c, struct err *err);
int collect_reads(const struct collect_window *w, struct collected *c, struct err *err);
int collect_host(const struct collect_window *w, struct collected *c, struct err *err);

/* The payload of the last frame of a kind that was written up to the window's end, at most ten
 * minutes before it began. -ENODATA when there is none. */
int collect_last_frame(const struct collect_window *w, enum frame_kind kind, struct buf *ret,
		       struct err *err);

/* Parts that a recording, a live host and a capture share. */
int collect_units_of(const struct root *root, uint64_t now_ns, struct collected *c,
		     struct err *err);
int collect_census_of(const struct census_summary *s, struct collected *c);
int collect_event(struct collected *c, const struct rec_event *e);
/* proof NULL = nothing around it was recorded. */
int collect_reset(struct collected *c, const struct rec_event *e, const struct queue_proof *proof);
/* One record of the kernel's log, as read: does it bear the lab's mark? */
bool collect_line_is_lab(const char *raw, size_t len);
void collect_consoles(const struct root *root, struct facts *f);
void collect_weight_of(const struct root *root, struct facts *f);

/* Processes that spend so much of a core in the kernel, with what they are seen to have open: takes
 * a second. */
int collect_readers(const struct root *root, double least_percent, struct collected *c);
/* Is it one of the files whose reading walks memory cgroups? */
bool collect_is_walked_file(const char *path);

/* The unit that a cgroup path belongs to; NULL = none. */
const char *collect_unit_of(struct collected *c, const char *cgroup);
const char *collect_text(struct collected *c, const char *text); /* NULL and "" → NULL */

#define AUTO_COLLECTED __attribute__((cleanup(collected_free)))

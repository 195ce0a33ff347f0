/* Gathers the facts of a window of a recording for the rules. A live `why` records into a private
 * store first, so that there is one path for now and for last night. Each collect_*.c reads one
 * kind of frame; what is missing stays missing. */
#pragma once

#include "arena.h"
#include "err.h"
#include "facts.h"
#include "stream.h"
#include "unknowns.h"

struct collected {
	struct facts facts;
	struct arena strings; /* owns every string in facts */
	struct unknowns unknown;
};

struct collect_window {
	struct stream *stream;
	uint64_t from_ns, to_ns;
};

/* All of them. A source that cannot be read is named in ret->unknown. */
int collect_facts(const struct collect_window *w, struct collected *ret, struct err *err);
void collected_free(struct collected *c);

/* One kind each; they set their bits in facts.have. */
int collect_ticks(const struct collect_window *w, struct collected *c, struct err *err);
int collect_profile(const struct collect_window *w, struct collected *c, struct err *err);

/* The unit that a cgroup path belongs to; NULL = none. */
const char *collect_unit_of(struct collected *c, const char *cgroup);
const char *collect_text(struct collected *c, const char *text); /* NULL and "" → NULL */

#define AUTO_COLLECTED __attribute__((cleanup(collected_free)))

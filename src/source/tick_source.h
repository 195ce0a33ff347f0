/* The full tick: every source once, cheap enough to do it each second for years. Files stay open;
 * what a host does not have is named in the list of unknowns and never fails the tick.
 *
 * To add a source of plain text: a parser `int x_parse(const char *text, struct tick *, struct err
 * *)` and a row in the table of tick_source.c. */
#pragma once

#include "err.h"
#include "offer.h"
#include "root.h"
#include "tick.h"
#include "unknowns.h"

struct core_times;
struct tick_source;

#define TICK_KIND(kind) (UINT32_C(1) << (kind))
#define TICK_ALL        UINT32_MAX

struct tick_source_options {
	uint32_t kinds;     /* of TICK_KIND; 0 = all */
	unsigned top_tasks; /* 0 = TASKS_TOP */
	bool no_bpf;        /* tasks by /proc alone */
	/* of the same root, not owned: /proc/stat is then read only for what this cannot tell.
	 * NULL = all of it every time */
	struct core_times *cores;
	bool thorough; /* one tick must see everything: no work is put off to later ticks */
};

/* root must outlive it. */
int tick_source_open(const struct root *root, const struct tick_source_options *options,
		     struct tick_source **ret, struct err *err);
void tick_source_close(struct tick_source *s);
/* Replaces *t. Negative only when memory is out. */
int tick_source_read(struct tick_source *s, struct tick *t, struct unknowns *unknowns);
const struct offer *tick_source_offer(const struct tick_source *s);
/* 0 = everything; 1 = no list of interrupts, no search for quotas; 2 = no threads, no quotas;
 * 3 = cores, load and cgroup counts only. */
void tick_source_shed(struct tick_source *s, unsigned level);

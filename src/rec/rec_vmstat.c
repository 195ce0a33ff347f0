#include "rec_vmstat.h"

#include "auto.h"

static const struct rec_field fields[] = {
	REC_FIELD(rec_vmstat, pgscan_direct, REC_U64, REC_PAGES, REC_COUNTER,
		  "pages scanned by tasks that had to wait for memory"),
	REC_FIELD(rec_vmstat, pgscan_kswapd, REC_U64, REC_PAGES, REC_COUNTER,
		  "pages scanned by kswapd"),
	REC_FIELD(rec_vmstat, pgsteal_direct, REC_U64, REC_PAGES, REC_COUNTER,
		  "pages reclaimed by tasks that had to wait for memory"),
	REC_FIELD(rec_vmstat, pgsteal_kswapd, REC_U64, REC_PAGES, REC_COUNTER,
		  "pages reclaimed by kswapd"),
	REC_FIELD(rec_vmstat, allocstall, REC_U64, REC_COUNT, REC_COUNTER,
		  "times a task entered direct reclaim, all zones"),
	REC_FIELD(rec_vmstat, compact_stall, REC_U64, REC_COUNT, REC_COUNTER,
		  "times a task had to compact memory itself"),
	REC_FIELD(rec_vmstat, oom_kill, REC_U64, REC_COUNT, REC_COUNTER,
		  "processes killed for lack of memory"),
	REC_FIELD(rec_vmstat, pgfault, REC_U64, REC_COUNT, REC_COUNTER, "page faults"),
	REC_FIELD(rec_vmstat, pgmajfault, REC_U64, REC_COUNT, REC_COUNTER,
		  "page faults that read from disk"),
	REC_FIELD(rec_vmstat, pswpin, REC_U64, REC_PAGES, REC_COUNTER, "pages swapped in"),
	REC_FIELD(rec_vmstat, pswpout, REC_U64, REC_PAGES, REC_COUNTER, "pages swapped out"),
	REC_FIELD(rec_vmstat, workingset_refault, REC_U64, REC_PAGES, REC_COUNTER,
		  "pages read again soon after they were reclaimed"),
	REC_FIELD(rec_vmstat, kswapd_low_wmark_hit_quickly, REC_U64, REC_COUNT, REC_COUNTER,
		  "times kswapd was woken again at once"),
	REC_FIELD(rec_vmstat, drop_pagecache, REC_U64, REC_COUNT, REC_COUNTER,
		  "writes to drop_caches that dropped the page cache"),
	REC_FIELD(rec_vmstat, drop_slab, REC_U64, REC_COUNT, REC_COUNTER,
		  "writes to drop_caches that dropped slab objects"),
};

const struct rec_desc rec_vmstat_desc = {
	.kind = REC_VMSTAT,
	.name = "vmstat",
	.size = sizeof(struct rec_vmstat),
	.fields = fields,
	.n_fields = ARRAY_LEN(fields),
};

#include "proc_vmstat.h"

#include <errno.h>

#include "auto.h"
#include "keys.h"
#include "rec_vmstat.h"

#define VMSTAT(member, bit, key) KEY_FIELD(rec_vmstat, member, REC_VMSTAT_##bit, key, 1)

/* Kernels before 4.8 and after 7.0 split these by zone or by file and anon: sums either way. */
static const struct key_field fields[] = {
	VMSTAT(pgscan_direct, PGSCAN_DIRECT, "pgscan_direct"),
	VMSTAT(pgscan_kswapd, PGSCAN_KSWAPD, "pgscan_kswapd"),
	VMSTAT(pgsteal_direct, PGSTEAL_DIRECT, "pgsteal_direct"),
	VMSTAT(pgsteal_kswapd, PGSTEAL_KSWAPD, "pgsteal_kswapd"),
	VMSTAT(allocstall, ALLOCSTALL, "allocstall"),
	VMSTAT(allocstall, ALLOCSTALL, "allocstall_dma"),
	VMSTAT(allocstall, ALLOCSTALL, "allocstall_dma32"),
	VMSTAT(allocstall, ALLOCSTALL, "allocstall_normal"),
	VMSTAT(allocstall, ALLOCSTALL, "allocstall_movable"),
	VMSTAT(allocstall, ALLOCSTALL, "allocstall_device"),
	VMSTAT(compact_stall, COMPACT_STALL, "compact_stall"),
	VMSTAT(oom_kill, OOM_KILL, "oom_kill"),
	VMSTAT(pgfault, PGFAULT, "pgfault"),
	VMSTAT(pgmajfault, PGMAJFAULT, "pgmajfault"),
	VMSTAT(pswpin, PSWPIN, "pswpin"),
	VMSTAT(pswpout, PSWPOUT, "pswpout"),
	VMSTAT(workingset_refault, WORKINGSET_REFAULT, "workingset_refault"),
	VMSTAT(workingset_refault, WORKINGSET_REFAULT, "workingset_refault_anon"),
	VMSTAT(workingset_refault, WORKINGSET_REFAULT, "workingset_refault_file"),
	VMSTAT(kswapd_low_wmark_hit_quickly, KSWAPD_LOW_WMARK_HIT_QUICKLY,
	       "kswapd_low_wmark_hit_quickly"),
	VMSTAT(drop_pagecache, DROP_PAGECACHE, "drop_pagecache"),
	VMSTAT(drop_slab, DROP_SLAB, "drop_slab"),
};

int proc_vmstat_parse(const char *text, struct tick *ret, struct err *err)
{
	struct rec_vmstat row = { 0 };

	if (!keys_parse(text, ' ', fields, ARRAY_LEN(fields), &row))
		return err_set(err, -ENODATA, "/proc/vmstat: no line that is known");
	struct rec_vmstat *place = tick_only_row(ret, REC_VMSTAT);
	if (!place)
		return err_set(err, -ENOMEM, "out of memory");
	*place = row;
	return 0;
}

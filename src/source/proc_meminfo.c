#include "proc_meminfo.h"

#include <errno.h>

#include "auto.h"
#include "keys.h"
#include "rec_meminfo.h"

/* the file speaks of kB and means KiB */
#define MEMINFO(member, bit, key) KEY_FIELD(rec_meminfo, member, REC_MEMINFO_##bit, key, 1024)

static const struct key_field fields[] = {
	MEMINFO(total, TOTAL, "MemTotal"),
	MEMINFO(free, FREE, "MemFree"),
	MEMINFO(available, AVAILABLE, "MemAvailable"),
	MEMINFO(buffers, BUFFERS, "Buffers"),
	MEMINFO(cached, CACHED, "Cached"),
	MEMINFO(swap_total, SWAP_TOTAL, "SwapTotal"),
	MEMINFO(swap_free, SWAP_FREE, "SwapFree"),
	MEMINFO(active, ACTIVE, "Active"),
	MEMINFO(inactive, INACTIVE, "Inactive"),
	MEMINFO(dirty, DIRTY, "Dirty"),
	MEMINFO(writeback, WRITEBACK, "Writeback"),
	MEMINFO(anon, ANON, "AnonPages"),
	MEMINFO(mapped, MAPPED, "Mapped"),
	MEMINFO(shmem, SHMEM, "Shmem"),
	MEMINFO(slab, SLAB, "Slab"),
	MEMINFO(sreclaimable, SRECLAIMABLE, "SReclaimable"),
	MEMINFO(sunreclaim, SUNRECLAIM, "SUnreclaim"),
	MEMINFO(kernel_stack, KERNEL_STACK, "KernelStack"),
	MEMINFO(page_tables, PAGE_TABLES, "PageTables"),
	MEMINFO(percpu, PERCPU, "Percpu"),
	MEMINFO(committed, COMMITTED, "Committed_AS"),
};

int proc_meminfo_parse(const char *text, struct tick *ret, struct err *err)
{
	struct rec_meminfo row = { 0 };

	if (!keys_parse(text, ':', fields, ARRAY_LEN(fields), &row))
		return err_set(err, -ENODATA, "/proc/meminfo: no line that is known");
	struct rec_meminfo *place = tick_only_row(ret, REC_MEMINFO);
	if (!place)
		return err_set(err, -ENOMEM, "out of memory");
	*place = row;
	return 0;
}

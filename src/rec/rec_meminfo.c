#include "rec_meminfo.h"

#include "auto.h"

static const struct rec_field fields[] = {
	REC_FIELD(rec_meminfo, total, REC_U64, REC_BYTES, 0, "usable memory"),
	REC_FIELD(rec_meminfo, free, REC_U64, REC_BYTES, 0, "unused memory"),
	REC_FIELD(rec_meminfo, available, REC_U64, REC_BYTES, 0,
		  "memory that can be had without swapping"),
	REC_FIELD(rec_meminfo, buffers, REC_U64, REC_BYTES, 0, "block device cache"),
	REC_FIELD(rec_meminfo, cached, REC_U64, REC_BYTES, 0, "page cache"),
	REC_FIELD(rec_meminfo, swap_total, REC_U64, REC_BYTES, 0, "swap space"),
	REC_FIELD(rec_meminfo, swap_free, REC_U64, REC_BYTES, 0, "unused swap space"),
	REC_FIELD(rec_meminfo, active, REC_U64, REC_BYTES, 0, "recently used pages"),
	REC_FIELD(rec_meminfo, inactive, REC_U64, REC_BYTES, 0, "pages that are reclaimed first"),
	REC_FIELD(rec_meminfo, dirty, REC_U64, REC_BYTES, 0, "pages waiting to be written"),
	REC_FIELD(rec_meminfo, writeback, REC_U64, REC_BYTES, 0, "pages being written"),
	REC_FIELD(rec_meminfo, anon, REC_U64, REC_BYTES, 0, "anonymous pages"),
	REC_FIELD(rec_meminfo, mapped, REC_U64, REC_BYTES, 0, "mapped file pages"),
	REC_FIELD(rec_meminfo, shmem, REC_U64, REC_BYTES, 0, "shared memory and tmpfs"),
	REC_FIELD(rec_meminfo, slab, REC_U64, REC_BYTES, 0, "kernel objects"),
	REC_FIELD(rec_meminfo, sreclaimable, REC_U64, REC_BYTES, 0,
		  "kernel objects that can be reclaimed"),
	REC_FIELD(rec_meminfo, sunreclaim, REC_U64, REC_BYTES, 0, "kernel objects that cannot"),
	REC_FIELD(rec_meminfo, kernel_stack, REC_U64, REC_BYTES, 0, "kernel stacks"),
	REC_FIELD(rec_meminfo, page_tables, REC_U64, REC_BYTES, 0, "page tables"),
	REC_FIELD(rec_meminfo, percpu, REC_U64, REC_BYTES, 0,
		  "per-core kernel memory: grows with every memory cgroup"),
	REC_FIELD(rec_meminfo, committed, REC_U64, REC_BYTES, 0, "memory promised to processes"),
};

const struct rec_desc rec_meminfo_desc = {
	.kind = REC_MEMINFO,
	.name = "meminfo",
	.size = sizeof(struct rec_meminfo),
	.fields = fields,
	.n_fields = ARRAY_LEN(fields),
};

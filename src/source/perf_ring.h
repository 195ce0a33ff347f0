/* Records of a perf_event ring, as our own events are set up (see perf_sampler.c). Pure: the kernel
 * wrote the bytes, but nothing here trusts a length. Strings and call chains stay in place. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PERF_RING_MAX_CHAIN = 1024,
	/* Not the kernel's: our events have these and nothing else in sample_type. */
	PERF_RING_CGROUP = 1, /* samples end with a cgroup id */
};

enum perf_ring_kind {
	PERF_RING_OTHER, /* a type that we have no use for */
	PERF_RING_SAMPLE,
	PERF_RING_MMAP,
	PERF_RING_COMM,
	PERF_RING_FORK,
	PERF_RING_EXIT,
	PERF_RING_LOST,
	PERF_RING_THROTTLE,
	PERF_RING_KSYMBOL,
};

struct perf_ring_record {
	enum perf_ring_kind kind;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t pid, tid, cpu;
	union {
		struct {
			const uint8_t *chain; /* n addresses and context markers, leaf first */
			uint32_t n;
			uint64_t cgroup; /* 0 = not recorded */
		} sample;
		struct {
			uint64_t start, len, file_offset;
			const char *path;
			const uint8_t *build_id;
			uint8_t build_id_len; /* 0 = not recorded */
			bool executable;
		} mmap;
		struct {
			const char *name;
			bool exec;
		} comm;
		struct {
			uint32_t parent_pid, parent_tid;
		} task;
		uint64_t lost;
		struct {
			uint64_t start;
			uint32_t len;
			bool bpf, unregister;
			const char *name;
		} ksymbol;
	};
};

/* Size of the record at bytes; 0 when there is no whole one. */
size_t perf_ring_record_size(const void *bytes, size_t len);
/* flags: PERF_RING_CGROUP. -EBADMSG when the record does not hold what its type promises. */
int perf_ring_parse(const void *bytes, size_t len, unsigned flags, struct perf_ring_record *ret);
uint64_t perf_ring_chain(const struct perf_ring_record *record, uint32_t i);

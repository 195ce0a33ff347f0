/* perf.data as `perf record` writes it: files and pipes of any version, either byte order, 32- and
 * 64-bit hosts, with zstd streams. Pure: bytes come through a callback, records leave through a
 * callback in the order in which they happened. Nothing in the bytes is trusted; memory is bounded
 * whatever they say. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "err.h"
#include "map.h"
#include "vec.h"

/* Record types of perf itself (the kernel's are in linux/perf_event.h). */
enum perf_user_type {
	PERF_USER_ATTR = 64,
	PERF_USER_EVENT_TYPE = 65,
	PERF_USER_TRACING_DATA = 66,
	PERF_USER_BUILD_ID = 67,
	PERF_USER_FINISHED_ROUND = 68,
	PERF_USER_ID_INDEX = 69,
	PERF_USER_AUXTRACE = 71,
	PERF_USER_EVENT_UPDATE = 78,
	PERF_USER_TIME_CONV = 79,
	PERF_USER_FEATURE = 80,
	PERF_USER_COMPRESSED = 81,
	PERF_USER_COMPRESSED2 = 83,
};

enum {
	PERF_BUILD_ID_BYTES = 20,
	PERF_CHAIN_MAX = 1024, /* frames kept of one call chain; the kernel's own cap is 127 */
};

struct perf_attr {
	uint32_t type, size;
	uint64_t config, period_or_freq, sample_type, read_format, flags;
	uint64_t branch_sample_type, regs_user, regs_intr;
	int32_t clockid;
	char *name; /* NULL = the file does not say */
};

/* Bits of perf_attr.flags that matter here, as the kernel numbers them. */
#define PERF_ATTR_FREQ          (UINT64_C(1) << 10)
#define PERF_ATTR_SAMPLE_ID_ALL (UINT64_C(1) << 18)
#define PERF_ATTR_USE_CLOCKID   (UINT64_C(1) << 25)
#define PERF_ATTR_BUILD_ID      (UINT64_C(1) << 34)

struct perf_build_id {
	uint32_t pid;
	uint16_t misc;
	uint8_t len;
	uint8_t bytes[PERF_BUILD_ID_BYTES];
	const char *file;
};

enum perf_have {
	PERF_HAVE_IP = 1,
	PERF_HAVE_TID = 2,
	PERF_HAVE_TIME = 4,
	PERF_HAVE_ADDR = 8,
	PERF_HAVE_ID = 16,
	PERF_HAVE_STREAM = 32,
	PERF_HAVE_CPU = 64,
	PERF_HAVE_PERIOD = 128,
	PERF_HAVE_CGROUP = 256,
	PERF_HAVE_CHAIN = 512,
};

struct perf_ns {
	uint64_t dev, ino;
};

struct perf_map {
	uint32_t pid, tid;
	uint64_t start, len, pgoff;
	uint32_t maj, min; /* MMAP2 without a build-id */
	uint64_t ino, ino_generation;
	uint8_t build_id_len; /* 0 = none */
	uint8_t build_id[PERF_BUILD_ID_BYTES];
	uint32_t prot, flags;
	const char *file;
};

/* One record, decoded. Pointers live until the callback returns. */
struct perf_rec {
	uint32_t type;
	uint16_t misc;
	uint16_t size;
	unsigned attr; /* index of its event */
	unsigned have; /* which of the following the record itself carries (sample fields, trailer)
			*/
	uint64_t ip, time, addr, id, stream_id, period, cgroup;
	uint32_t pid, tid, cpu;
	const uint64_t *chain; /* leaf first, with the kernel's context markers */
	size_t n_chain;
	bool chain_cut;  /* the record held more than PERF_CHAIN_MAX */
	bool stack_dump; /* it holds a copy of the user's stack (--call-graph dwarf) */
	union {
		struct perf_map map; /* MMAP, MMAP2 */
		struct {
			uint32_t pid, tid;
			const char *comm;
		} comm;
		struct {
			uint32_t pid, ppid, tid, ptid;
			uint64_t time;
		} fork; /* FORK, EXIT */
		struct {
			uint64_t id, lost;
		} lost; /* LOST, LOST_SAMPLES */
		struct {
			uint64_t time, id, stream_id;
		} throttle;
		struct {
			uint32_t pid, tid;
		} next_prev; /* SWITCH_CPU_WIDE; of ITRACE_START its own */
		struct {
			uint32_t pid, tid;
			uint64_t n;
			const struct perf_ns *list;
		} namespaces;
		struct {
			uint64_t addr;
			uint32_t len;
			uint16_t kind, flags;
			const char *name;
		} ksymbol;
		struct {
			uint64_t id;
			const char *path;
		} cgroup_path;
	};
};

/* What a file says about itself; grows while it is read (pipes say it on the way). */
struct perf_data {
	struct arena arena;
	bool pipe, swap;
	VEC(struct perf_attr) attrs;
	struct map_u64 ids; /* sample id → index of its attr */
	VEC(struct perf_build_id) build_ids;
	const char *hostname, *osrelease, *perf_version, *arch, *cmdline; /* NULL = not said */
	bool have_clock_data, have_sample_time;
	uint32_t clockid;
	uint64_t clock_wall_ns, clock_ns;
	uint64_t first_ns, last_ns; /* SAMPLE_TIME */
	uint64_t n_records, n_samples, n_unknown;
	uint64_t n_late;  /* records older than one that had to be given out before */
	char damage[200]; /* "" = whole; else what was cut or skipped, in words */
};

struct perf_input {
	/* Bytes read at the offset, fewer only at the end; negative errno. */
	int64_t (*read_at)(void *arg, uint64_t offset, void *ret, size_t len);
	void *arg;
	uint64_t size;
	/* `perf record --threads` writes a directory: this is its file `data`, and these are data.0
	 * to data.N, records without a header, each in the order of its own ring. */
	bool dir;
	const struct perf_input *more;
	size_t n_more;
	const char *name; /* of one of these, for messages */
};

struct perf_data_ops {
	/* A non-zero return ends the reading and is passed on. */
	int (*record)(void *arg, const struct perf_data *data, const struct perf_rec *rec,
		      struct err *err);
	/* May be NULL; bytes of all inputs consumed so far. */
	void (*progress)(void *arg, uint64_t done);
};

enum perf_data_flags {
	PERF_DATA_FILE_ORDER = 1, /* as they lie in the file, not sorted by time */
};

/* True when the first bytes (8 are enough) are those of a perf.data file. */
bool perf_data_is(const void *bytes, size_t len);
/* Read it all. *data is filled as far as it went, also on failure: perf_data_free it. */
int perf_data_read(const struct perf_input *in, unsigned flags, const struct perf_data_ops *ops,
		   void *arg, struct perf_data *data, struct err *err);
void perf_data_free(struct perf_data *data);
/* "cycles", "cpu-clock:u", "raw:0x1a8" ...: the file's own name when it gives one. */
const char *perf_attr_name(const struct perf_attr *attr, char *ret, size_t size);

#define AUTO_PERF_DATA __attribute__((cleanup(perf_data_free)))

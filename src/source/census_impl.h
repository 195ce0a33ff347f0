/* Between the files of the census; nobody else includes it. */
#pragma once

#include "census.h"
#include "census_abi.h"
#include "mounts.h"
#include "vec.h"

struct census_bpf;
struct bpf_program;

enum census_variant {
	CENSUS_LOOP,    /* SEC("syscall") and bpf_loop, 5.17 */
	CENSUS_RUN,     /* raw tracepoint program by test run, 5.10 */
	CENSUS_TRIGGER, /* attached to sys_enter, run by a system call of our own, 5.4 */
};

enum census_job {
	CENSUS_JOB_WALK = 1,
	CENSUS_JOB_PINS = 2,
	CENSUS_JOB_PATHS = 3,
};

struct census_batch_pin {
	struct zombie_pin pin;
	unsigned zombie;
};

struct census_ref {
	uint64_t css;
	struct zombie_pin pin;
};

struct census {
	struct census_bpf *skel;
	struct census_bpf *more; /* loaded later: the pins, where only some zombie needs them */
	const struct root *root;
	enum census_variant variant;
	unsigned want, opened_for;
	bool v1, swap_on;
	uint64_t page_bytes;
	struct census_state *st; /* mapped, or our copy before 5.5 */
	bool st_mapped;
	struct census_state st_copy;
	void *maps[4]; /* mapped records, pins, names; NULL = read one by one */
	size_t map_bytes[4];
	uint64_t longest_slice_ns, slices;
	int programs[4]; /* by job; -1 = not loaded */
	void *links[4];
	/* the path of the record at hand: level k of it ends at prefix_len[k] */
	struct buf prefix;
	size_t prefix_len[CENSUS_DEPTH + 1];
	struct buf paths;
	size_t path_at[CENSUS_OUT], path_len[CENSUS_OUT];
	/* the batch that a slice brought: in the mapped output, else in `copies` */
	const struct census_rec *batch[CENSUS_OUT];
	bool asked[CENSUS_OUT]; /* a zombie, and below what was asked for */
	struct census_rec *copies;
	unsigned n_batch;
	VEC(struct census_batch_pin) pins;
	VEC(struct census_ref) refs; /* sorted by css */
	VEC(struct zombie_pin) own;  /* of the zombie at hand */
	uint64_t broken_lists;
	struct mounts mounts;
	bool mounts_read;
};

/* Pages of a record by list: inactive and active anonymous, inactive and active file, unevictable.
 */
void census_lru_pages(const struct census *c, const struct census_rec *rec,
		      uint64_t ret[CENSUS_LRUS]);
/* The n-th output record of a job, copied into buf when it is not mapped. */
const void *census_out(struct census *c, enum census_job job, unsigned n, void *buf);
/* One slice of the job; what it put out is counted in c->st->out_n. */
int census_slice(struct census *c, enum census_job job, struct err *err);
int census_set_targets(struct census *c, const struct census_target *targets, unsigned n,
		       struct err *err);
/* Fills c->pins, sorted by zombie, for the batch; files get their paths. */
int census_batch_pins(struct census *c, struct zombie_files *files, bool anon_only,
		      struct err *err);
/* Tasks and namespaces that hold dying memcgs → c->refs. */
int census_read_tasks(struct census *c, struct err *err);
int census_load(struct census *c, struct err *err);
/* The program for pins, unless it is there already. */
int census_load_pins(struct census *c, struct err *err);

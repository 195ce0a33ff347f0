/* Between the files of the census; nobody else includes it. */
#pragma once

#include "bpf_types.h"
#include "census.h"
#include "census_pins_abi.h"
#include "mounts.h"
#include "shared_holders.h"
#include "vec.h"

struct bpf_link;
struct bpf_object;
struct bpf_program;

enum census_variant {
	CENSUS_DIRECT,  /* SEC("syscall"), bpf_loop, plain loads in the walk: 6.2 */
	CENSUS_LOOP,    /* the same with copies by helper: 5.17 */
	CENSUS_RUN,     /* raw tracepoint program by test run, 5.10 */
	CENSUS_TRIGGER, /* attached to sys_enter, run by a system call of our own, 5.4 */
};

/* Each is a BPF object of its own, opened if it may be needed and loaded when it is. */
enum census_job {
	CENSUS_JOB_WALK,
	CENSUS_JOB_PINS,
	CENSUS_JOB_PATHS,
	CENSUS_JOB_WRITEBACK,
	CENSUS_JOBS
};

struct census_program {
	struct bpf_object *obj;      /* NULL = was not asked for */
	struct bpf_program *program; /* of this variant; NULL = not loaded */
	struct census_ctl *ctl; /* the start of the job's state: mapped, or our copy before 5.5 */
	bool mapped;
	size_t state_bytes; /* as mapped or copied */
	int state_fd, out_fd, targets_fd;
	void *out; /* mapped; NULL = read one by one */
	struct bpf_link *link;
	struct err failed; /* why it could not be loaded: it is not tried again */
};

struct census_batch_pin {
	struct zombie_pin pin;
	unsigned zombie;
};

struct census_ref {
	uint64_t css;
	struct zombie_pin pin;
	struct census_pin
		file; /* PIN_WRITEBACK: has a row once a zombie was asked for; inode 0 = none */
};

/* The path of the record at hand: level k of it ends at len[k]. Records come in the order of the
 * walk, so what is above one is still there. */
struct census_path {
	char text[CENSUS_DEPTH * CENSUS_NAME + 1];
	size_t len[CENSUS_DEPTH + 1];
};

struct census {
	struct census_program programs[CENSUS_JOBS];
	struct bpf_types types; /* for all of them */
	const struct root *root;
	enum census_variant variant;
	unsigned want, opened_for;
	unsigned nodes; /* highest possible NUMA node + 1 */
	bool v1, swap_on;
	uint64_t page_bytes;
	uint64_t kernel_ns, longest_slice_ns, slices;
	struct census_path path;
	/* what encloses the zombies of this depth, in `path`; 0 = has to be looked at again */
	struct owner_above above;
	unsigned above_depth;
	/* the batch that a slice brought: in the mapped output, else in `copies` */
	const struct census_rec *batch;
	unsigned n_batch;
	bool asked[CENSUS_OUT]; /* a zombie, and below what was asked for */
	struct census_rec *copies;
	VEC(struct census_batch_pin) pins;
	VEC(struct census_ref) refs; /* sorted by css, each once */
	VEC(struct zombie_pin) own;  /* of the zombie at hand */
	uint64_t broken_lists;
	struct mounts mounts;
	bool mounts_read;
	struct shared_holders shared; /* of this walk */
};

static inline struct walk_state *census_walk_state(const struct census *c)
{
	return (struct walk_state *)c->programs[CENSUS_JOB_WALK].ctl;
}

/* All objects that c->opened_for may need, and of them the walk loaded. */
int census_prepare(struct census *c, struct err *err);
/* The object of the job, unless it is there already. */
int census_load(struct census *c, enum census_job job, struct err *err);
void census_unload(struct census *c);
/* Any object of ours: err says which thing is missing (BTF, privilege, lockdown). */
int census_load_object(const struct census *c, const void *elf, size_t elf_bytes,
		       struct bpf_object **ret, struct err *err);
/* The n-th output record of a job, copied into buf when it is not mapped. */
const void *census_out(struct census *c, enum census_job job, unsigned n, void *buf);
/* One slice of the job; what it put out is counted in its ctl->out_n. */
int census_slice(struct census *c, enum census_job job, struct err *err);
int census_set_targets(struct census *c, enum census_job job, const struct census_target *targets,
		       unsigned n, struct err *err);
/* Fills c->pins, sorted by zombie, for the batch. */
int census_batch_pins(struct census *c, struct zombie_files *files, bool anon_only,
		      struct err *err);
/* The files whose writeback holds those of the batch that were asked for. */
int census_batch_writeback(struct census *c, struct zombie_files *files, struct err *err);
/* What refers to that css: a range of c->refs. */
struct census_ref *census_refs_of(const struct census *c, uint64_t css, size_t *ret_n);
/* The row of an inode that the programs described; SIZE_MAX when out of memory. */
size_t census_file_row(struct zombie_files *files, const struct census_pin *raw);
/* The paths of the files from that row on. */
int census_resolve_files(struct census *c, struct zombie_files *files, size_t from,
			 struct err *err);
/* Tasks, namespaces, sockets and writeback that hold dying memcgs → c->refs. */
int census_read_holders(struct census *c, struct unknowns *unknowns, struct err *err);
int census_read_writeback(struct census *c, struct unknowns *unknowns, struct err *err);

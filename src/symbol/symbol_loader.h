/* Reads symbol files and maps of processes on a thread of its own: a container's file may lie on a
 * hung NFS or FUSE, and /proc/PID/maps waits for a stuck process's lock; neither may stop the
 * recorder. Jobs go in, finished jobs come out; nothing else is shared. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "eh_ranges.h"
#include "elf_image.h"
#include "err.h"
#include "root.h"
#include "symtab.h"

/* Symbols of one file. Immutable once a job has delivered it; freed by its last owner. */
struct symbol_image {
	struct symtab table;
	struct eh_ranges unnamed; /* functions by their unwind entries, where .symtab is gone */
	VEC(struct elf_segment) loads;
	uint8_t build_id[20];
	uint8_t build_id_len;
	bool full; /* .symtab was there */
};

enum symbol_job_kind {
	SYMBOL_JOB_FILE,   /* → image */
	SYMBOL_JOB_MAPS,   /* → maps_text, and jit when the process has a perf map */
	SYMBOL_JOB_CGROUP, /* → maps_text is /proc/PID/cgroup */
};

struct symbol_job {
	enum symbol_job_kind kind;
	uint32_t pid;
	uint32_t file;        /* the caller's own number */
	uint64_t start, end;  /* one mapping of the file, for deleted ones */
	uint8_t build_id[20]; /* what it must have; len 0 = any */
	uint8_t build_id_len;
	char path[512];
	/* result */
	int status; /* 0 or negative errno */
	struct symbol_image *image;
	struct buf maps_text;
	struct symtab jit;
	struct symbol_job *next;
};

struct symbol_loader;

int symbol_loader_open(const struct root *root, struct symbol_loader **ret, struct err *err);
/* Waits for the job in progress at most 2 s; a thread that hangs in the kernel is left behind. */
void symbol_loader_close(struct symbol_loader *l);
/* Takes the job over. Over the bound of queued jobs it is refused: false, and still the caller's.
 */
bool symbol_loader_submit(struct symbol_loader *l, struct symbol_job *job);
/* A finished job, now the caller's, or NULL. */
struct symbol_job *symbol_loader_take(struct symbol_loader *l);
size_t symbol_loader_pending(struct symbol_loader *l);
/* Until nothing is pending or the time is over. */
void symbol_loader_wait(struct symbol_loader *l, uint64_t most_ns);
void symbol_job_free(struct symbol_job *job);
void symbol_image_free(struct symbol_image *image);

/* Symbols of an open file: .symtab, .dynsym, and Go's table when there is no .symtab. */
int symbol_image_read(const struct elf_source *source, struct symbol_image **ret, struct err *err);

/* Addresses of running processes → frames of a profile. Follows processes by the kernel's records
 * (mmap, fork, exec, exit), asks /proc only for those that were there before and are sampled, and
 * normalizes to (module, ELF address), so that a process that is started again shares its frames.
 *
 * Files are read in the background: locate() a sample's addresses when it arrives, name them with
 * frame() a moment later. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "profile.h"
#include "root.h"
#include "unknowns.h"

struct symbolizer;

enum { SYMBOLIZER_KEEP_DEAD = 6 };

/* No kallsyms (kptr_restrict) is no error: kernel frames are then addresses, *unknowns says why. */
int symbolizer_open(const struct root *root, struct unknowns *unknowns, struct symbolizer **ret,
		    struct err *err);
void symbolizer_close(struct symbolizer *s);

struct symbolizer_map {
	uint64_t start, len, file_offset;
	const char *path;
	const uint8_t *build_id;
	uint8_t build_id_len;
};

void symbolizer_mmap(struct symbolizer *s, uint32_t pid, const struct symbolizer_map *map);
void symbolizer_fork(struct symbolizer *s, uint32_t pid, uint32_t parent);
void symbolizer_exec(struct symbolizer *s, uint32_t pid);
/* What is known of it stays for SYMBOLIZER_KEEP_DEAD calls of symbolizer_forget_dead(). */
void symbolizer_exit(struct symbolizer *s, uint32_t pid);
void symbolizer_forget_dead(struct symbolizer *s);
/* Records are missing: what is known of living processes may be wrong and is read anew. */
void symbolizer_forget_maps(struct symbolizer *s);
void symbolizer_ksymbol(struct symbolizer *s, uint64_t start, uint32_t len, const char *name,
			bool bpf);

/* Where an address lies, without its name: stays right when the process goes on to exec or ends. */
struct symbolizer_place {
	uint64_t offset; /* in the file; the address itself when there is no file */
	uint32_t file;   /* or one of: */
};

#define SYMBOLIZER_ANONYMOUS UINT32_MAX       /* memory without a file: code of a JIT */
#define SYMBOLIZER_PENDING   (UINT32_MAX - 1) /* mappings of the process are being read */
#define SYMBOLIZER_NOWHERE   (UINT32_MAX - 2) /* not mapped: a broken chain */
#define SYMBOLIZER_KERNEL    (UINT32_MAX - 3)

/* Locate a user address and see to it that its symbols are read, unless `quiet`. */
struct symbolizer_place symbolizer_locate(struct symbolizer *s, uint32_t pid, uint64_t address,
					  bool quiet);
/* Path of the process's cgroup: v2, else systemd's, else memory's; NULL = not known (yet, or it was
 * gone before we looked). Asking starts the reading. id: as in samples, 0 = unknown. */
const char *symbolizer_cgroup(struct symbolizer *s, uint32_t pid, uint64_t id);
/* Take in what the background thread has read; true when nothing is outstanding. */
bool symbolizer_collect(struct symbolizer *s);
void symbolizer_wait(struct symbolizer *s, uint64_t most_ns);

/* The profile that frames are added to; call it again when that profile was emptied. */
void symbolizer_use(struct symbolizer *s, struct profile *p);
/* 0 = leave the frame out. */
uint32_t symbolizer_frame(struct symbolizer *s, uint32_t pid, struct symbolizer_place place);
/* Is the kernel address in a function where an idle core waits? */
bool symbolizer_is_idle(struct symbolizer *s, uint64_t address);

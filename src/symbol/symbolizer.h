/* Addresses of running processes → frames of a profile. Follows processes by the kernel's records
 * (mmap, fork, exec, exit), asks /proc only for those that were there before and are sampled, and
 * normalizes to (module, ELF address), so that a process that is started again shares its frames.
 *
 * Files are read in the background: touch() a sample's addresses when it arrives, resolve them with
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
/* What is known stays until symbolizer_forget_dead(). */
void symbolizer_exit(struct symbolizer *s, uint32_t pid);
void symbolizer_forget_dead(struct symbolizer *s);
void symbolizer_ksymbol(struct symbolizer *s, uint64_t start, uint32_t len, const char *name,
			bool bpf);

/* A user address of pid was sampled: see to it that its symbols are read. */
void symbolizer_touch(struct symbolizer *s, uint32_t pid, uint64_t address);
/* Take in what the background thread has read; true when nothing is outstanding. */
bool symbolizer_collect(struct symbolizer *s);
void symbolizer_wait(struct symbolizer *s, uint64_t most_ns);

/* The profile that frames are added to; call it again when that profile was emptied. */
void symbolizer_use(struct symbolizer *s, struct profile *p);
/* 0 when the address lies in no mapping (a broken chain): leave it out. */
uint32_t symbolizer_user_frame(struct symbolizer *s, uint32_t pid, uint64_t address);
uint32_t symbolizer_kernel_frame(struct symbolizer *s, uint64_t address);
/* Is the kernel address in a function where an idle core waits? */
bool symbolizer_is_idle(struct symbolizer *s, uint64_t address);

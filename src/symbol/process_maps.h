/* Executable mappings of the processes that the kernel's records speak of. Forked processes share
 * their parent's until they change. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map.h"
#include "proc_maps.h"
#include "symtab.h"
#include "vec.h"

#define PROCESS_NO_FILE UINT32_MAX

enum { PROCESS_MAX = 65536, PROCESS_MAX_MAPS = 8192 };

struct process_map {
	uint64_t start, end, file_offset;
	uint32_t file; /* of the symbolizer; PROCESS_NO_FILE = anonymous */
};

struct process {
	uint32_t pid, parent;
	bool complete; /* all its mappings are known: exec was seen, or /proc was read */
	bool asked;    /* /proc was asked */
	bool dead, asked_cgroup;
	uint32_t died; /* call of forget_dead */
	char *cgroup;
	uint64_t cgroup_id; /* as the samples have it; 0 = unknown */
	uint64_t asked_mono_ns;
	VEC(struct process_map) maps; /* by start, without overlap */
	struct symtab jit;
};

struct process_table {
	struct map_u64 by_pid; /* struct process * */
	VEC(uint32_t) dead;
	uint32_t calls; /* of forget_dead */
};

struct process *process_table_get(const struct process_table *t, uint32_t pid);
/* Made when absent; NULL when out of memory or over PROCESS_MAX. */
struct process *process_table_put(struct process_table *t, uint32_t pid);
void process_table_fork(struct process_table *t, uint32_t pid, uint32_t parent);
/* Copy the parent's mappings when there are any. */
void process_table_inherit(struct process_table *t, struct process *p);
void process_table_exit(struct process_table *t, uint32_t pid);
/* Those that died `keep` or more calls ago. */
void process_table_forget_dead(struct process_table *t, uint32_t keep);
/* Of all that live; /proc may be asked again. */
void process_table_forget_maps(struct process_table *t);
void process_table_free(struct process_table *t);

void process_clear(struct process *p, bool complete);
/* What it covers of older mappings is cut away. */
void process_add_map(struct process *p, uint64_t start, uint64_t end, uint64_t file_offset,
		     uint32_t file);
const struct process_map *process_find_map(const struct process *p, uint64_t address);

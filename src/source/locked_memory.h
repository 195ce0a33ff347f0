/* Processes that lock memory: nothing leads from an unevictable page to who locked it, so these are
 * all that it can be. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "process_files.h"
#include "root.h"
#include "vec.h"

struct locked_process {
	int pid;
	char comm[16];
	uint64_t bytes;
	bool recorder; /* it is a zscope record, which locks all it has */
};

struct locked_processes {
	VEC(struct locked_process) list; /* most bytes first */
	struct process_unseen unseen;
};

int locked_memory_read(const struct root *root, struct locked_processes *ret, struct err *err);
void locked_memory_free(struct locked_processes *p);

#define AUTO_LOCKED_MEMORY __attribute__((cleanup(locked_memory_free)))

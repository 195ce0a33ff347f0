/* Which processes hold a deleted or tmpfs file: open descriptors and mappings. */
#pragma once

#include <stdint.h>

#include "arena.h"
#include "err.h"
#include "process_files.h"
#include "root.h"
#include "zombie.h"

struct pin_holder {
	int pid;
	char comm[16];
	/* Opens the very file, also when it is deleted: "proc/PID/fd/N" or
	 * "proc/PID/map_files/A-B". */
	char link[64];
	bool mapped;
};

/* holders[i] belongs to files->list[i]; pid 0 = nobody found, which is not nobody while *ret
 * has any. Looks only for files that are deleted or tmpfs and whose holder is not known yet. The
 * first holder found counts. */
int pin_holders_read(const struct root *root, const struct zombie_files *files,
		     struct pin_holder *holders, struct process_unseen *ret, struct err *err);
/* The same for all files of page cache, but only who has them mapped: that keeps pages in it. */
int pin_holders_read_mapped(const struct root *root, const struct zombie_files *files,
			    struct pin_holder *holders, struct process_unseen *ret,
			    struct err *err);

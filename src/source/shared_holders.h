/* Which processes hold memory that has an inode but no path: memfds, System V shared memory, shared
 * anonymous mappings, deleted tmpfs files. Only /proc/PID/fd and /proc/PID/maps lead to who has
 * them.
 *
 * All processes are looked at once, and only when the first such inode is asked for: their
 * descriptors, and where nobody has it open, their mappings. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "err.h"
#include "ipc_shm.h"
#include "map.h"
#include "process_files.h"
#include "root.h"
#include "vec.h"
#include "zombie.h"

struct shared_entry {
	bool by_fd;
	int last_pid;
	struct zombie_holder who;
};

struct shared_holders {
	bool read_fds, read_maps, read_ipc;
	struct ipc_shm ipc;           /* ids are counted in each IPC namespace */
	struct process_unseen unseen; /* may have what nobody was found to have */
	struct map_u64 by_inode;
	VEC(struct shared_entry) list;
	struct arena strings;
	uint64_t lost; /* found, but did not fit */
};

/* name is what the kernel calls it: "memfd:x", "SYSV0000002a", "dev/zero". *ret lives as long as
 * the holders; processes 0 = nobody has it. 0 = the answer is known, else -EAGAIN: it was found
 * with nobody while not everybody could be looked at, or its id is in several IPC namespaces. */
int shared_holders_find(struct shared_holders *h, const struct root *root, uint32_t major,
			uint32_t minor, uint64_t inode, const char *name,
			struct zombie_holder *ret);
void shared_holders_free(struct shared_holders *h);
/* System V shared memory by its name; its inode number is the segment's id. */
bool shared_is_sysv(const char *name);

/* System V shared memory of every IPC namespace. Each namespace counts its segments by itself, and
 * the kernel's inode of a segment has only that number: whose it is, and who may be told to remove
 * it, follows only from asking all of them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "root.h"
#include "vec.h"

struct ipc_space {
	uint64_t inode; /* of the namespace; IPC_SPACE_ONLY where the kernel has none */
	int pid;        /* a process in it; 0 = us */
	bool ours;
};

struct ipc_segment {
	size_t space; /* index */
	uint32_t id, key;
	uint64_t attached;
};

struct ipc_shm {
	VEC(struct ipc_space) spaces;
	VEC(struct ipc_segment) segments;
	bool blind; /* some namespace, or the segments of one, could not be read */
};

enum { IPC_SPACE_ONLY = 1 };

/* Reads all; what it could not read is in ret->blind. */
void ipc_shm_read(const struct root *root, struct ipc_shm *ret);
/* The one segment that this can be; name is the kernel's ("SYSV0000002a"). -EAGAIN = several
 * namespaces have it, none, or not all could be asked. */
int ipc_shm_find(const struct ipc_shm *shm, uint64_t id, const char *name,
		 const struct ipc_segment **ret);
void ipc_shm_free(struct ipc_shm *shm);
/* In which IPC namespace a process is ("7" or "self"); negative errno. */
int ipc_space_of(const struct root *root, const char *process, uint64_t *ret);
/* Pure: the text of /proc/sysvipc/shm. */
int ipc_shm_parse(const char *text, size_t space, struct ipc_shm *ret);

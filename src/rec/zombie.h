/* A dying memory cgroup, what holds it, and the table of files that hold zombies. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "map.h"
#include "owner.h"
#include "vec.h"

enum zombie_have {
	ZOMBIE_REFS = 1 << 0,
	ZOMBIE_LRU = 1 << 1,   /* bytes, file_bytes, unevictable_bytes */
	ZOMBIE_SPLIT = 1 << 2, /* anon_bytes and shmem_bytes; else their sum is in anon_bytes */
	ZOMBIE_SLAB = 1 << 3,
	ZOMBIE_SWAP = 1 << 4,
	ZOMBIE_CREATED = 1 << 6,
	ZOMBIE_DIED = 1 << 7,
	ZOMBIE_PINS = 1 << 8,          /* the pins were looked for */
	ZOMBIE_CREATED_AFTER = 1 << 9, /* where the time itself is not known */
	ZOMBIE_CREATED_BEFORE = 1 << 10,
};

enum pin_kind {
	PIN_FILE,      /* page cache of a file */
	PIN_TMPFS,     /* tmpfs, shared memory, memfd: goes only with the file or its holder */
	PIN_ANON,      /* anonymous memory of a process that was moved out */
	PIN_MLOCKED,   /* unevictable pages: goes when they are unlocked */
	PIN_SWAP,      /* swap entries */
	PIN_PROCESS,   /* a process that ended in it and was not reaped */
	PIN_TASK,      /* a living task that still belongs to it (it is going down right now) */
	PIN_NAMESPACE, /* a cgroup namespace whose root it is, held by a live process */
	PIN_SOCKET,
	PIN_PAGES, /* pages whose owner could not be followed: moved during the look, truncated, or
		    * on no list yet */
	PIN_REFERENCE, /* no page, task, namespace, swap or writeback: some kernel reference
			  (socket, perf, BPF) */
	PIN_WRITEBACK, /* it dirtied a file; goes when that is on the disk and the kernel looks */
	PIN_CHILD,     /* zombies below it: goes when the last of them does, never by itself */
	PIN_KIND_END,
};

enum pin_place {
	PLACE_UNKNOWN, /* device and inode only */
	PLACE_PATH,
	PLACE_OVERLAY,  /* in a layer of an overlay file system */
	PLACE_INTERNAL, /* no mount shows it: memfd, System V shared memory */
	/* What a file system keeps for itself: buffers of the block device, ext4's allocator. It
	 * may be in use and then stays, and `path` says in words what it is. */
	PLACE_DEVICE,
};

/* The process that has memory without a path: the first of them. */
struct zombie_holder {
	int pid;
	char comm[16];
	const char *unit;  /* NULL = in none */
	const char *owner; /* owner_label(); NULL = not known */
	uint32_t processes;
	/* System V shared memory, whose id is counted in each IPC namespace: in which it is, and a
	 * process that is in it, too. ipc_ns 0 = it is none. */
	uint64_t ipc_ns;
	int ipc_pid;
	bool ipc_ours;
};

struct zombie_file {
	uint32_t major, minor;
	uint64_t inode;
	uint32_t generation;
	uint32_t magic; /* of its file system */
	bool deleted;
	enum pin_kind kind; /* PIN_FILE or PIN_TMPFS */
	enum pin_place place;
	const char *path; /* NULL = not known; hostile bytes */
	uint64_t bytes;   /* in zombies */
	uint64_t zombies;
	uint64_t writeback; /* zombies that its writeback holds */
	bool held;          /* was looked for: holder.processes 0 = by nobody */
	struct zombie_holder holder;
	uint64_t kernel_ptr; /* struct inode, only while a census runs */
};

/* Neighbouring pages of a file that are charged to a zombie. */
struct zombie_range {
	uint32_t file; /* index in the table */
	uint32_t pages;
	uint64_t first; /* page number in the file */
};

/* Paths live in `strings`. */
struct zombie_files {
	VEC(struct zombie_file) list;
	VEC(struct zombie_range) ranges; /* only when they were asked for */
	struct map_u64 by_inode;         /* hash of device and inode → index + 1 */
	struct arena strings;
};

#define ZOMBIE_NO_FILE SIZE_MAX

struct zombie_pin {
	enum pin_kind kind;
	/* index in the table, for PIN_FILE, PIN_TMPFS and PIN_WRITEBACK; the last may have none */
	size_t file;
	bool dirty;         /* PIN_WRITEBACK: not yet on the disk */
	bool until_evicted; /* PIN_WRITEBACK before 5.15: until its inodes leave the cache */
	uint64_t below;     /* PIN_CHILD: how many zombies are below it; 0 = not known */
	uint64_t bytes;
	/* PIN_PROCESS, PIN_TASK, PIN_NAMESPACE, PIN_SOCKET, PIN_ANON; 0 = not known */
	int pid, parent_pid;
	char comm[16];
	uint64_t socket_inode;
	uint16_t port, family, protocol; /* of a socket; port 0 = it has none */
};

static inline bool zombie_pin_has_file(const struct zombie_pin *p)
{
	return p->kind == PIN_FILE || p->kind == PIN_TMPFS ||
	       (p->kind == PIN_WRITEBACK && p->file != ZOMBIE_NO_FILE);
}

/* What is only known while the churn is recorded. */
struct zombie_creator {
	int pid;
	char comm[16];
	const char *cgroup; /* its own */
	int ppid;           /* 0 = not known */
	char parent_comm[16];
};

struct zombie {
	uint64_t have;
	uint64_t id; /* inode number of the directory that was */
	const char *path;
	size_t path_len;
	struct owner owner;
	uint64_t bytes; /* on the LRU lists: what reclaim could free or not */
	uint64_t file_bytes, anon_bytes, shmem_bytes, unevictable_bytes, slab_bytes, swap_bytes;
	int64_t refs;
	uint64_t serial; /* order of creation among all cgroups since boot */
	uint64_t created_ns, died_ns;
	uint64_t created_after_ns, created_before_ns;
	const struct zombie_creator *creator; /* NULL = not seen */
	const struct zombie_pin *pins;
	size_t n_pins;
	uint64_t kernel_ptr;
};

const char *pin_kind_name(enum pin_kind kind);
/* What would free a zombie that is held like this, for people. */
const char *pin_kind_cure(enum pin_kind kind);
const char *pin_place_name(enum pin_place place);
/* The row of that file, made when absent; SIZE_MAX when out of memory. tell: 0, or what tells
 * inodes of one number apart (memfds and System V shared memory share a device, and each IPC
 * namespace counts by itself). */
size_t zombie_files_put(struct zombie_files *files, uint32_t major, uint32_t minor, uint64_t inode,
			uint64_t tell, bool *ret_new);
/* After the last zombie: files that only writeback refers to are counted by that. */
void zombie_files_finish(struct zombie_files *files);
void zombie_files_free(struct zombie_files *files);
/* path is `below` or lies below it; below NULL or "/" holds everything. */
bool zombie_is_below(const char *path, size_t len, const char *below);

#define AUTO_ZOMBIE_FILES __attribute__((cleanup(zombie_files_free)))

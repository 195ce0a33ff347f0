/* What the programs that find pins and source/census_*.c share. */
#pragma once

#include "census_abi.h"

enum {
	CENSUS_PATH_DEPTH = 48, /* components of a pinning file's path */
	CENSUS_WRITEBACK_RESTARTS = 16,
};

#define CENSUS_BDEV_MAGIC     0x62646576u
#define CENSUS_EXT4_MAGIC     0xef53u
#define CENSUS_EXT4_ALLOCATOR 1 /* the inode number of its buddy cache */

enum census_pin_kind {
	CENSUS_PIN_FILE,
	CENSUS_PIN_SHMEM,
	CENSUS_PIN_ANON,
	CENSUS_PIN_OTHER,
};

/* A run of neighbouring pages of one inode on one LRU list of one zombie. */
struct census_pin {
	unsigned long long inode, ino, pages;
	unsigned long long index; /* of the first page in the file */
	unsigned int zombie;      /* index in the batch */
	unsigned int kind;
	unsigned int dev, nlink, magic, generation;
	int pid, ppid; /* CENSUS_PIN_ANON: a process that has the memory; 0 = not found */
	char comm[16];
};

struct pins_state {
	struct census_ctl ctl;
	unsigned int nodes; /* highest possible NUMA node + 1 */
	unsigned int anon_only;
	unsigned int at, list; /* of the batch, of its lists */
	unsigned long long pos, head, prev;
	unsigned long long run_inode; /* of anonymous memory its struct anon_vma */
	unsigned long long run_pages, run_first, run_end;
	unsigned int run_kind, broken;
	unsigned long long page[8];
};

/* One component of a path, from the leaf up. */
struct census_part {
	unsigned int index, level;
	unsigned int len;
	char name[CENSUS_NAME];
};

struct paths_state {
	struct census_ctl ctl;
	unsigned int at, level;
	unsigned long long dentry;
};

/* A dying memcg that writeback holds. */
struct census_writeback {
	unsigned long long css;
	struct census_pin file; /* one of its inodes, a dirty one first; inode 0 = none is left */
	unsigned int dirty;
	unsigned int cleaner; /* the kernel hands clean inodes to the parent: 5.15 */
};

struct writeback_state {
	struct census_ctl ctl;
	unsigned long long first_sb, sb;
	unsigned long long head; /* of the list of devices, 0 = not found yet */
	unsigned long long bdi;
	unsigned long long pos; /* on the device's list of writeback structures */
	unsigned int restarts;
	unsigned int lost; /* some may be missing */
};

/* A task or cgroup namespace that refers to a dying memcg. */
struct census_task {
	unsigned long long css;    /* its own memcg, 0 = that one is alive */
	unsigned long long ns_css; /* root of its cgroup namespace, 0 = alive */
	int pid, tgid, ppid;
	unsigned int exit_state;
	char comm[16];
};

/* A socket that is charged to a dying memcg, or a cgroup namespace whose root that is, and who has
 * it open. */
struct census_open {
	unsigned long long css;
	unsigned long long inode; /* as in /proc/PID/fd */
	int pid, ppid;
	unsigned short socket;                 /* 0 = a namespace */
	unsigned short protocol, family, port; /* of a socket, the local one */
	char comm[16];
};

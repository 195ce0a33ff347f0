/* The files that processes have open or mapped, whatever became of their paths. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "root.h"

struct process_file {
	int pid;
	uint32_t major, minor;
	uint64_t inode;   /* may be 0: the first segment of System V shared memory */
	bool mapped;      /* else open */
	bool deleted;     /* no path leads to it */
	const char *link; /* below proc/PID/fd or proc/PID/map_files: opens the very file */
	const char *name; /* of a mapped one: the rest of the line, not ended; else NULL */
};

enum process_files_what { PROCESS_FILES_OPEN = 1, PROCESS_FILES_MAPPED = 2 };

/* Who may have a file without being seen: while there are any, "nobody has it" is not known. */
struct process_unseen {
	uint64_t processes; /* are there, but could not be looked at */
	bool hidden;        /* we are in a PID namespace, which does not show those outside */
	bool failed;        /* the processes could not be listed */
};

/* Regular files of every process, process by process. */
int process_files_each(const struct root *root, unsigned what,
		       void (*each)(void *arg, const struct process_file *file), void *arg,
		       struct process_unseen *ret, struct err *err);
bool process_unseen_any(const struct process_unseen *u);
/* In words, without a full stop. */
const char *process_unseen_tell(const struct process_unseen *u, char *ret, size_t size);
/* False = we see only the processes of our own PID namespace. */
bool process_all_shown(const struct root *root);
/* Whether a file of the process could not be read because it ended: then it holds nothing. r is the
 * error; the kernel calls many of these -EACCES. */
bool process_is_gone(const struct root *root, int pid, int r);
/* The name of a process; "" = it is gone, or hides it. */
void process_read_comm(const struct root *root, int pid, char *ret, size_t size);

/* A line of /proc/PID/maps. */
struct process_map {
	char range[40];
	uint32_t major, minor;
	uint64_t inode;
	bool deleted;     /* the kernel's mark is at the end of the name */
	const char *name; /* the rest of the line, not ended; may be empty */
};

/* Pure: false = no file. */
bool process_map_parse(const char *line, struct process_map *ret);

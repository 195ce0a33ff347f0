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

/* Regular files of every process that can be looked at, process by process. */
int process_files_each(const struct root *root, unsigned what,
		       void (*each)(void *arg, const struct process_file *file), void *arg,
		       struct err *err);

/* A line of /proc/PID/maps. */
struct process_map {
	char range[40];
	uint32_t major, minor;
	uint64_t inode;
	const char *name;
};

/* Pure: false = no file. */
bool process_map_parse(const char *line, struct process_map *ret);

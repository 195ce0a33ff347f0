/* Executable mappings of a process, from /proc/PID/maps. */
#pragma once

#include <stdint.h>

/* path is "" for anonymous memory (JIT), "[vdso]" ..., cut off at its newline, not terminated. */
struct proc_maps_entry {
	uint64_t start, end, file_offset;
	uint64_t device, inode;
	const char *path;
	uint32_t path_len;
};

/* Calls back for each executable mapping. The number of them; lines that are none are skipped. */
unsigned proc_maps_parse(const char *text,
			 void (*each)(void *arg, const struct proc_maps_entry *entry), void *arg);

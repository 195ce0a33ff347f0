/* What a lab run has made, written before it is made, so that `lab clean` finds every trace also
 * after kill -9 or a power cut. One file per run, one line per thing: "KIND VALUE". */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "vec.h"

enum lab_trace {
	LAB_TRACE_PID,       /* "PID STARTTIME": a process of ours, identified by both */
	LAB_TRACE_CGROUP,    /* absolute path of a cgroup directory; it and all below it */
	LAB_TRACE_DIR,       /* a directory tree of ours */
	LAB_TRACE_FILE,      /* one file */
	LAB_TRACE_MOUNT,     /* a mount point */
	LAB_TRACE_CONTAINER, /* "SOCKET/NAME": a container of the engine that listens there */
	LAB_TRACE_IMAGE,     /* "SOCKET/NAME" */
	LAB_TRACE_UNIT,      /* the name of a unit of systemd; stopped, and its files removed */
	LAB_TRACE_END,
};

enum { LAB_VALUE_MAX = 512 };

struct lab_trace_line {
	enum lab_trace trace;
	char value[LAB_VALUE_MAX];
	pid_t pid;           /* LAB_TRACE_PID only */
	uint64_t start_time; /* as in /proc/PID/stat, clock ticks since boot */
};

struct lab_traces {
	VEC(struct lab_trace_line) list;
};

const char *lab_trace_name(enum lab_trace trace);
/* One line without its newline. -EBADMSG: not a line of ours (torn by a crash, edited). */
int lab_journal_parse_line(const char *line, size_t len, struct lab_trace_line *ret);
/* All lines of the journal in that directory that are lines of ours. */
int lab_journal_read(const char *state_dir, struct lab_traces *ret, struct err *err);
void lab_traces_free(struct lab_traces *t);
/* Append one line with one write. The value may hold no newline. */
int lab_journal_add(int fd, enum lab_trace trace, const char *value, struct err *err);
int lab_journal_add_pid(int fd, pid_t pid, struct err *err);
/* Start time of a process; -ESRCH when there is none. */
int lab_journal_start_time(pid_t pid, uint64_t *ret);
/* Only names that a lab run can have made are ever removed: the path is absolute, has no "..", and
 * one of its components starts with "zscope-lab-". */
_Bool lab_journal_is_ours(const char *path);
/* A unit that a lab run can have made: zscope-lab-*, or zscope_lab_* for a slice (a slice's dashes
 * are slices above it), in plain characters. */
_Bool lab_journal_is_our_unit(const char *name);

#define AUTO_LAB_TRACES __attribute__((cleanup(lab_traces_free)))

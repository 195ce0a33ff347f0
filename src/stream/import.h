/* perf.data files and perf script text → a profile in memory. Times are wall clock only when
 * something in the file, in its name or from the user says so; a file's change time says nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "profile.h"
#include "root.h"

enum import_wall {
	IMPORT_WALL_NONE,   /* times are relative to an unknown start */
	IMPORT_WALL_CLOCK,  /* CLOCK_DATA in the file (perf record -k) */
	IMPORT_WALL_NAME,   /* perf-HOST-TIMESTAMP-120s.data */
	IMPORT_WALL_ANCHOR, /* --anchor */
};

struct import_options {
	const char *name; /* of the file, for the time in it; NULL = none */
	bool have_anchor;
	uint64_t anchor_ns; /* wall time of the first sample */
	bool have_offset;
	int64_t offset_ns; /* wall time minus the recording's clock, when the caller knows better
			      than the file's name */
	/* Where symbol files are looked for: their path below this root (build ids must agree);
	 * NULL = no symbols are read. */
	const struct root *root;
	const char *symbols; /* a directory with further ELF files, by base name; NULL = none */
	/* Over so many samples `full` is called; 0 = never. */
	size_t most_samples;
};

struct import_ops {
	/* The profile holds options.most_samples: take samples out of it. May be NULL. */
	int (*full)(void *arg, struct profile *p, struct err *err);
	void (*progress)(void *arg, uint64_t done, uint64_t total); /* may be NULL */
};

struct import_info {
	bool perf_data, pipe, text;
	enum import_wall wall;
	int64_t offset_ns; /* that was added to the recording's clock */
	uint64_t n_samples, n_lost, n_throttled, n_late;
	uint64_t n_stack_dumps;      /* samples with a copy of the user's stack, not unwound */
	uint64_t n_untimed;          /* samples whose text shows no time */
	uint64_t n_strange;          /* lines of text that are nothing known */
	uint64_t first_ns, last_ns;  /* as stored; 0, 0 = no sample */
	uint64_t own_first_ns;       /* on the recording's own clock */
	uint64_t n_frames, n_named;  /* distinct frames, and those with a name */
	char host[256], kernel[128]; /* "" = the file does not say */
	char damage[200];            /* "" = whole */
};

/* Read the open file to its end and add its samples to *p. *ret is filled as far as it went, also
 * on failure. Compressed files (gzip, zstd) are unpacked to an unlinked temporary file. */
int import_fd(int fd, const struct import_options *options, const struct import_ops *ops, void *arg,
	      struct profile *p, struct import_info *ret, struct err *err);
/* The same by path, through no root: it is the user's own argument. "-" = standard input. */
int import_path(const char *path, const struct import_options *options,
		const struct import_ops *ops, void *arg, struct profile *p, struct import_info *ret,
		struct err *err);

/* A directory that perf itself wrote (--threads): one recording, not several. */
bool import_is_dir(const char *path);

/* The time in a name like perf-HOST-20261116-003953-120s.data: digits as YYYYMMDD-HHMMSS or
 * YYYY-MM-DD-HH-MM-SS (any divider; local time, UTC with Z), or seconds since the epoch.
 * -ENODATA when there is none. */
int import_name_time(const char *name, uint64_t *ret_ns);
/* When a perf.data file's first sample was taken, on its own clock, from its header alone. -ENODATA
 * when it does not say. */
int import_first_sample(const char *path, uint64_t *ret_ns);
const char *import_wall_name(enum import_wall wall);

/* Many files → one recording: a directory of two-minute files is one flight. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "import.h"
#include "vec.h"

struct import_batch_file {
	const char *path;
	uint64_t order_ns; /* time in its name, UINT64_MAX = none */
	struct import_info info;
	bool failed;
	char why[400]; /* what was wrong, when it failed */
};

struct import_batch {
	struct arena arena;
	VEC(struct import_batch_file) files;
	/* May be NULL: called often while a file is read. */
	void (*progress)(void *arg, const char *path, size_t file, size_t files, uint64_t done,
			 uint64_t total);
	void *progress_arg;
	uint64_t bytes; /* of the recording afterwards */
};

/* A file, or the files of a directory (hidden ones left out). A directory that perf itself wrote
 * counts as a file. */
int import_batch_add(struct import_batch *b, const char *path, struct err *err);
/* Import them in the order of their time. A file that cannot be read is marked `failed` and the
 * others go on; an error of the recording itself ends it. */
int import_batch_run(struct import_batch *b, const struct import_options *options,
		     const char *store_dir, struct err *err);
void import_batch_free(struct import_batch *b);

#define AUTO_IMPORT_BATCH __attribute__((cleanup(import_batch_free)))

/* tar archives in memory: what `capture` writes and --root reads. ustar with GNU long names, so
 * that any tar unpacks it. The reader is bounded and trusts nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "buf.h"
#include "err.h"

enum tar_type {
	TAR_FILE = '0',
	TAR_LINK = '2', /* symbolic */
	TAR_DIR = '5',
};

/* data is the file's bytes, or a link's target. */
void tar_put(struct buf *out, enum tar_type type, const char *path, uint64_t mtime_s,
	     const void *data, size_t len);
void tar_end(struct buf *out);

struct tar_entry {
	char type;        /* of tar_type, or something else that the caller skips */
	const char *path; /* hostile bytes, owned by the arena */
	const char *link; /* target of a link */
	const char *data; /* in place */
	size_t len;
};

struct tar_reader {
	const char *at, *end;
	bool begun; /* the first header was one: what is broken behind it is damage */
};

/* 1 = *ret is an entry, 0 = end, -EPROTO = not a tar archive, -EBADMSG = a damaged or cut one. */
int tar_next(struct tar_reader *r, struct arena *arena, struct tar_entry *ret, struct err *err);

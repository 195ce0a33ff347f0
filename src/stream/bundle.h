/* A captured host as one file, .tar.zst: written by `capture`, read by --root FILE. */
#pragma once

#include <sys/types.h>

#include "buf.h"
#include "err.h"

/* Compress a finished tar. */
int bundle_pack(const struct buf *tar, struct buf *ret, struct err *err);
/* Decompress; more than a bundle can hold (512 MB) is refused, because a few bytes can pretend to
 * be terabytes. Text that is no zstd is taken as a plain tar. */
int bundle_unpack(const void *bytes, size_t len, struct buf *ret_tar, struct err *err);
/* Write the entries of a tar below an empty directory. Nothing in it leads out of the directory:
 * names with ".." or through links are refused. */
int bundle_extract(const struct buf *tar, const char *dir, struct err *err);

/* The bundle in a private temporary directory, which goes with the process whatever ends it: a
 * child waits for that and takes the directory away. */
struct bundle {
	char dir[64];  /* "" = none */
	int alive;     /* the end of a pipe that nobody else holds */
	pid_t cleaner; /* 0 = none */
};

int bundle_open(const char *file, struct bundle *ret, struct err *err);
void bundle_close(struct bundle *b);

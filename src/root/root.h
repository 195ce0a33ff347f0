/* The tree that is looked at: `/`, a mounted image, or a captured host (--root DIR).
 * Every file is opened through it with paths relative to it ("proc/stat"), and no symbolic link,
 * `..` or magic link leads out of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "buf.h"
#include "err.h"

struct root {
	int fd;    /* O_PATH of the directory */
	bool live; /* this very host: kernel calls (perf, bpf, D-Bus) speak of the same machine */
	char path[256]; /* as the user gave it, for messages */
};

/* Parsers know no tree and name a file as this host has it ("/proc/stat: ..."): put the tree in
 * front of such a text, as in every message of the functions below. Returns code. */
int root_err(const struct root *root, int code, struct err *err);

enum root_flags {
	ROOT_MAGIC = 1, /* follow /proc/PID/root, /proc/PID/exe ...; honoured on a live root only */
};

int root_open(const char *dir, struct root *ret, struct err *err); /* NULL or "/" = this host */
void root_close(struct root *root);

/* A regular file, opened for reading without blocking; -EISDIR, -ENXIO for anything else. */
int root_open_file(const struct root *root, const char *path, unsigned flags, struct err *err);
int root_open_dir(const struct root *root, const char *path, unsigned flags, struct err *err);
/* Append the whole file to *out; -EFBIG when it is longer than cap. */
int root_read(const struct root *root, const char *path, size_t cap, struct buf *out,
	      struct err *err);
/* Where a link points, as text; -EINVAL when it is none. */
int root_readlink(const struct root *root, const char *path, struct buf *out, struct err *err);
bool root_exists(const struct root *root, const char *path);
/* lstat-like: the last component is not followed. */
struct stat;
int root_lstat(const struct root *root, const char *path, struct stat *ret, struct err *err);
/* Call back for each entry ("." and ".." left out), sorted by name. each() ends the walk by
 * returning non-zero. */
int root_list(const struct root *root, const char *path,
	      int (*each)(void *arg, const char *name, unsigned char d_type), void *arg,
	      struct err *err);

/* A file that is read again and again: stays open, read with pread from 0. */
struct reread {
	int fd;                  /* -1 = not open */
	const struct root *root; /* outlives it; for messages */
	const char *path;
	bool whole; /* the kernel gives all of it in one read (single_open): a short read is the end
		     */
};

int reread_open(struct reread *r, const struct root *root, const char *path, struct err *err);
/* Replace *out with the file's present text. Reopens nothing; -ENODEV and friends are passed on. */
int reread_text(struct reread *r, struct buf *out, struct err *err);
void reread_close(struct reread *r);

#define ROOT_FILE_CAP (16u << 20) /* larger kernel or configuration files are refused */
#define AUTO_ROOT     __attribute__((cleanup(root_close)))

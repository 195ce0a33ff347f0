/* The growing end of a segment file. A second's bytes are copied into a mapping of room that the
 * file system has promised before (fallocate): no system call, no journal, and a full disk is an
 * error code where the room is asked for, never a signal where it is used. What lies behind the
 * bytes is zeroes until the file is closed. File systems that cannot promise room (copy on write,
 * network) are written to in the ordinary way. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store_tail {
	int fd;        /* -1 = no file yet */
	uint64_t len;  /* bytes put so far */
	uint64_t size; /* of the file: room included */
	bool plain;    /* write(2) only */
	char *map;     /* [map_from, map_from + map_len) of the file, NULL = none */
	uint64_t map_from;
	size_t map_len;
	bool struck; /* the disk did not give a page of it */
};

/* Make the file; negative errno. */
int store_tail_open(struct store_tail *t, int dir_fd, const char *name);
/* Append; *ret_done bytes of it were taken, also when it fails: go on there later. */
int store_tail_put(struct store_tail *t, const void *bytes, size_t len, size_t *ret_done);
void store_tail_close(struct store_tail *t); /* gives the room back; fd -1 is fine */

/* The directory of a store: who may use it, which segments lie in it, which are pinned. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "segment.h"
#include "vec.h"

struct store_segment {
	struct segment_name name;
	uint64_t bytes; /* on disk when the list was made; the writer keeps it up to date */
	bool pinned;    /* a file NAME.pin stands beside it */
	bool open;      /* the writer is not done with it */
};

struct store_segments {
	VEC(struct store_segment) list; /* by start time */
};

/* 0700, unless it is there. */
int store_dir_make(const char *dir, struct err *err);
/* For writing: makes it when missing; refuses a directory that others can write to, that
 * belongs to somebody else or that holds other things than a store. Returns a descriptor. */
int store_dir_open_writer(const char *dir, struct err *err);
int store_dir_open_reader(const char *dir, struct err *err);
/* Take the lock of the only writer; the descriptor holds it. -EWOULDBLOCK: another has it. */
int store_dir_lock(int dir_fd, const char *dir, struct err *err);
/* Whether a writer holds the lock now; never disturbs one that is just starting. */
bool store_dir_is_locked(int dir_fd);
/* Names only, unless with_sizes; never opens a segment. */
int store_dir_list(int dir_fd, const char *dir, bool with_sizes, struct store_segments *ret,
		   struct err *err);
int store_dir_pin(int dir_fd, const struct segment_name *name, bool pinned);
bool store_dir_is_pinned(int dir_fd, const struct segment_name *name);
/* The first of the list with start_ns > time_ns, list length when none. */
size_t store_segments_after(const struct store_segments *segments, uint64_t time_ns);

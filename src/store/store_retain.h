/* Which segments stay: by bytes, by age, by pins. Deletes files of its directory, nothing else. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "store_dir.h"

/* What went although no limit that the user gave asked for it. */
struct store_dropped {
	uint64_t segments, bytes;
	uint64_t from_ns, to_ns; /* time that they held */
};

struct store_retain {
	int dir_fd; /* borrowed */
	uint64_t max_bytes, max_age_ns;
	struct store_segments segments;
	uint64_t total_bytes;
	uint64_t pin_to_ns; /* segments that begin before this are pinned when they begin */
	struct store_dropped dropped;
};

int store_retain_open(struct store_retain *r, const char *dir, struct err *err);
void store_retain_close(struct store_retain *r);
bool store_retain_add(struct store_retain *r, const struct segment_name *name);
void store_retain_grow(struct store_retain *r, const struct segment_name *name, uint64_t bytes);
void store_retain_seal(struct store_retain *r, const struct segment_name *name);
/* The disk is full: delete the oldest segment that is neither open nor pinned, and remember that it
 * had to be; false when there is none. */
bool store_retain_make_room(struct store_retain *r);
void store_retain_apply(struct store_retain *r, uint64_t now_ns);
/* Pin what touches [from, to), also what is yet to come. */
int store_retain_pin(struct store_retain *r, uint64_t from_ns, uint64_t to_ns);

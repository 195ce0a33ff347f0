/* Where a file lies, from its device and its path inside that file system: /proc/self/mountinfo. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "err.h"
#include "root.h"
#include "vec.h"

struct mount_entry {
	uint32_t major, minor;
	const char *top; /* which directory of the file system is mounted */
	const char *dir; /* where */
	const char *type;
	const char *options; /* of the super block: overlay's layers */
};

struct mounts {
	VEC(struct mount_entry) list;
	struct arena strings;
};

/* Pure. Lines that are no mount lines are skipped. */
int mounts_parse(const char *text, struct mounts *ret, struct err *err);
int mounts_read(const struct root *root, struct mounts *ret, struct err *err);
void mounts_free(struct mounts *m);
/* The path by which this namespace sees inner (a path from the file system's own root); NULL when
 * no mount shows it. */
const char *mounts_path(const struct mounts *m, uint32_t major, uint32_t minor, const char *inner,
			struct arena *strings);
/* path lies in a layer of a mounted overlay, or in a place where the runtimes keep layers. */
bool mounts_is_layer(const struct mounts *m, const char *path);
/* Any directory of that device, for open_by_handle_at; NULL = none. */
const char *mounts_any_dir(const struct mounts *m, uint32_t major, uint32_t minor);

#define AUTO_MOUNTS __attribute__((cleanup(mounts_free)))

/* An imported profile → segments of the store, as `record` would have written them. */
#pragma once

#include <stdint.h>

#include "err.h"
#include "import.h"
#include "profile.h"

struct import_store;

/* Makes the directory when it is missing. -EWOULDBLOCK: a recorder writes to it. */
int import_store_open(const char *dir, struct import_store **ret, struct err *err);
/* Write the samples before until_ns, second by second, and take them out of the profile. */
int import_store_write(struct import_store *s, struct profile *p, uint64_t until_ns,
		       struct err *err);
/* Another profile, or one that was emptied, comes next: its ids mean other things. */
void import_store_new_profile(struct import_store *s);
/* Facts of the file that the next samples come from. */
void import_store_source(struct import_store *s, const struct import_info *info);
/* Seals the last segment. */
int import_store_close(struct import_store *s, struct err *err);

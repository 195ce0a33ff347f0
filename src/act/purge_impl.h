/* Between the files of purge; nobody else includes it. */
#pragma once

#include "purge.h"

/* Drop the ranges of `files` from the page cache. holders[i] leads to deleted file i. */
int purge_drop_ranges(const struct root *root, struct zombie_files *files,
		      const struct pin_holder *holders, const struct purge_options *options,
		      uint64_t *ret_bytes);
int purge_reclaim(const struct root *root, const struct offer *offer,
		  const struct purge_options *options, uint64_t bytes, struct err *err);

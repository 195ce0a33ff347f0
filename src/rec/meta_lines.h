/* The lines of a META frame ("host=...", "kernel=...", "cores=96"): what makes a segment readable
 * on another machine. FRAME_META in a recording. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of the value of `key` ("host"), which *ret then points to; 0 = not said, *ret untouched.
 */
size_t meta_lines_find(const char *bytes, size_t len, const char *key, const char **ret);
/* false = not said, or not a number: *ret is untouched. */
bool meta_lines_u64(const char *bytes, size_t len, const char *key, uint64_t *ret);

/* A log file in blocks of whole lines: plain, gzip or zstd (told by its first bytes), or standard
 * input. Lines longer than the block are cut and counted. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct log_file;

/* path "-" = standard input. The path is the user's own, relative to where he stands. */
int log_file_open(const char *path, struct log_file **ret, struct err *err);
/* 1 = whole lines in [*ret, *ret + *ret_len), the last one perhaps without newline; valid until the
 * next call. 0 = end. Negative: what could be read was given before; err tells what is wrong. */
int log_file_next(struct log_file *f, const char **ret, size_t *ret_len, struct err *err);
uint64_t log_file_cut_lines(const struct log_file *f);
const char *log_file_name(const struct log_file *f);
void log_file_close(struct log_file *f);

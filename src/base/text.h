/* Reading kernel text: numbers, columns, lines. All functions are bounded by the terminating NUL
 * (or an explicit length), never allocate and never keep state. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parse an unsigned decimal at *p and move *p behind it. -EINVAL: no digit; -ERANGE: > 2^64-1. */
int text_take_u64(const char **p, uint64_t *ret);
int text_take_hex(const char **p, uint64_t *ret);
/* The whole of text must be the number (a trailing newline is allowed). */
int text_u64(const char *text, uint64_t *ret);
int text_i64(const char *text, int64_t *ret);
/* Column n (from 0) of the line at `line`, columns divided by blanks or tabs. -ENODATA: fewer
 * columns. */
int text_column_u64(const char *line, unsigned n, uint64_t *ret);
/* The value behind `key` + blank or tab at a line start, as in memory.stat. -ENODATA: no such key.
 */
int text_key_u64(const char *text, const char *key, uint64_t *ret);
/* Start of the line after p, or NULL at the end of the text. */
const char *text_next_line(const char *p);
/* Length of the line at p, without its newline. */
size_t text_line_len(const char *p);
const char *text_skip_blanks(const char *p);
bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);
/* Copy into a fixed array, cut at its end, always terminated. Returns false when cut. */
bool text_copy(char *ret, size_t size, const char *text);
bool text_copy_n(char *ret, size_t size, const char *text, size_t len);
/* Shell-style pattern (*, ?) over the whole text; bounded time, no recursion. */
bool text_glob(const char *pattern, const char *text);
/* A CPU or IRQ list "0-3,8": calls back for each number; -EINVAL on anything else.
 * More than `most` numbers give -ERANGE. */
int text_cpu_list(const char *text, unsigned most, void (*each)(void *arg, unsigned n), void *arg);
/* Is the word one of "a|b|c"? */
bool text_is_choice(const char *choices, const char *word);
/* How many slips of the fingers (a letter wrong, missing, too many, two swapped) are between two
 * short words; UINT_MAX when one has more than 31 letters. */
unsigned text_slips(const char *a, const char *b);

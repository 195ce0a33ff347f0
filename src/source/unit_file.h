/* Unit files as systemd reads them: sections, continuation lines, assignments in order. A drop-in
 * is parsed into the same struct after the unit file; later assignments win and an empty one
 * resets. Pure: no files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "arena.h"
#include "err.h"
#include "vec.h"

enum {
	UNIT_FILE_LINE_MOST =
		1 << 20, /* as systemd's LONG_LINE_MAX: a longer line makes it refuse */
	UNIT_FILE_ENTRIES_MOST = 200000,
	UNIT_NAME_MOST = 255,
};

struct unit_setting {
	const char *section;
	const char *key;
	const char *value;
	bool wide; /* from a drop-in for many units (service.d, prefix-.service.d): its [Install]
		      does not count */
};

struct unit_file {
	VEC(struct unit_setting) settings;
};

struct unit_words {
	VEC(const char *) list;
};

/* Append the settings of text; strings go into the arena. -EINVAL: invalid UTF-8, -EBADMSG: broken
 * section header, -ENOBUFS: line too long; systemd calls such a unit "bad". */
int unit_file_parse(const char *text, size_t len, bool wide, struct arena *arena,
		    struct unit_file *file, struct err *err);
void unit_file_free(struct unit_file *file);
/* The last assignment; NULL when there is none or it is empty (= back to the default). */
const char *unit_file_get(const struct unit_file *file, const char *section, const char *key);
/* All words since the last empty assignment (quotes removed), in order, into *ret. */
void unit_file_words(const struct unit_file *file, const char *section, const char *key,
		     struct arena *arena, struct unit_words *ret);
/* All lines since the last empty assignment, as they stand (ExecStart=). */
void unit_file_lines(const struct unit_file *file, const char *section, const char *key,
		     struct unit_words *ret);
/* One word of a command line with quotes and backslashes removed; NULL at the end. Moves *p. */
const char *unit_file_take_word(const char **p, struct arena *arena);
/* "5", "10s", "1min 30s", "100ms", "infinity" → microseconds (UINT64_MAX = infinity). */
int unit_file_span_us(const char *text, unsigned long long *ret_us);

enum unit_name_kind {
	UNIT_NAME_BAD,
	UNIT_NAME_PLAIN,
	UNIT_NAME_TEMPLATE, /* foo@.service */
	UNIT_NAME_INSTANCE, /* foo@bar.service */
};

enum unit_name_kind unit_name_kind(const char *name);
/* ".service" of "foo.service"; "" when the name is no unit's. */
const char *unit_name_suffix(const char *name);
/* foo@bar.service → foo@.service; NULL for other kinds. */
const char *unit_name_template(const char *name, struct arena *arena);
/* foo@.service, bar → foo@bar.service */
const char *unit_name_with_instance(const char *template_name, const char *instance, size_t len,
				    struct arena *arena);

/* What went wrong, in words for the user: filled where the fact is known, printed once at the edge.
 * A struct err is a fixed buffer on the caller's stack: it cannot leak and cannot fail. */
#pragma once

#include <stdarg.h>

#include "tick_path.h"

struct err {
	int code;       /* negative errno, 0 = nothing went wrong */
	char text[400]; /* one line without newline, already safe for a terminal */
};

/* Set the text and return code, so that `return err_set(err, -EINVAL, "...")` reads well.
 * Control bytes that arguments bring in are replaced, because names are hostile. err may be NULL.
 */
RARELY int err_set(struct err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* "PATH: No such file or directory" for -code. */
RARELY int err_path(struct err *err, int code, const char *path);

/* Put context in front of what a callee said: "reading the tick: /proc/stat: ...". */
RARELY int err_prefix(struct err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#include "err.h"

#include <stdio.h>
#include <string.h>

#include "esc.h"

static void err_clean(struct err *err)
{
	esc_tty_in_place(err->text);
}

int err_set(struct err *err, int code, const char *format, ...)
{
	if (!err)
		return code;

	va_list args;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	err->code = code;
	err_clean(err);
	return code;
}

int err_path(struct err *err, int code, const char *path)
{
	return err_set(err, code, "%s: %s", path, strerror(-code));
}

int err_prefix(struct err *err, int code, const char *format, ...)
{
	if (!err)
		return code;

	char told[sizeof(err->text)];
	memcpy(told, err->text, sizeof(told));
	va_list args;
	va_start(args, format);
	int n = vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	if (n >= 0 && (size_t)n < sizeof(err->text))
		snprintf(err->text + n, sizeof(err->text) - (size_t)n, ": %s", told);
	err->code = code;
	err_clean(err);
	return code;
}

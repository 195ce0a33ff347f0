#include "http_library.h"

#include <errno.h>
#include <stddef.h>

#include "auto.h"
#include "library.h"

/* The build reads MICROHTTPD_ABI from the library whose header it compiles with, because the name
 * is a promise about the types in that header. Debian names the package by it too. */
#define SONAME  "libmicrohttpd.so." MICROHTTPD_ABI
#define PACKAGE "libmicrohttpd" MICROHTTPD_ABI

static const struct library_function functions[] = {
#define FUNCTION(name) { "MHD_" #name, offsetof(struct http_library, name) },
	HTTP_LIBRARY_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

int http_library_load(struct http_library *ret, struct err *err)
{
	struct err why = { 0 };
	int r = library_load(SONAME, functions, ARRAY_LEN(functions), ret, &why);

	if (r == -ELIBACC)
		return err_set(err, r, "serve needs " PACKAGE ": apt-get install " PACKAGE " (%s)",
			       why.text);
	return r < 0 ? err_set(err, r, "%s", why.text) : 0;
}

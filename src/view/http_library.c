#include "http_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "auto.h"

/* The build reads MICROHTTPD_ABI from the library whose header it compiles with, because the name
 * is a promise about the types in that header. Debian names the package by it too. */
#define SONAME  "libmicrohttpd.so." MICROHTTPD_ABI
#define PACKAGE "libmicrohttpd" MICROHTTPD_ABI

static const struct {
	const char *symbol;
	size_t offset;
} functions[] = {
#define FUNCTION(name) { "MHD_" #name, offsetof(struct http_library, name) },
	HTTP_LIBRARY_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

int http_library_load(struct http_library *ret, struct err *err)
{
	struct http_library library;
	void *handle = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return err_set(err, -ELIBACC,
			       "serve needs " PACKAGE ": apt-get install " PACKAGE " (%s)",
			       dlerror());
	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		void *function = dlsym(handle, functions[i].symbol);
		if (!function) {
			dlclose(handle);
			return err_set(err, -ELIBBAD, SONAME " has no %s", functions[i].symbol);
		}
		memcpy((char *)&library + functions[i].offset, &function, sizeof(function));
	}
	*ret = library;
	return 0;
}

#include "demangle.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

enum { DEMANGLE_MAX = 4000 }; /* longer names are left alone: the C++ demangler is recursive */

typedef char *(*cxa_demangle_fn)(const char *, char *, size_t *, int *);

static cxa_demangle_fn load_cxx(void)
{
	static cxa_demangle_fn found;
	static bool tried;

	if (!tried) {
		void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
		tried = true;
		if (library)
			*(void **)&found = dlsym(library, "__cxa_demangle");
	}
	return found;
}

bool demangle_cxx(const char *symbol, char *ret, size_t size)
{
	if (!text_starts(symbol, "_Z"))
		return false;
	cxa_demangle_fn cxa_demangle = load_cxx();
	int status = -1;
	char *name = cxa_demangle ? cxa_demangle(symbol, NULL, NULL, &status) : NULL;
	if (!name || status != 0)
		return free(name), false;
	text_copy(ret, size, name);
	free(name);
	return true;
}

bool demangle(const char *symbol, char *ret, size_t size)
{
	if (symbol[0] != '_' || strnlen(symbol, DEMANGLE_MAX) >= DEMANGLE_MAX)
		return false;
	return demangle_rust(symbol, ret, size) || demangle_cxx(symbol, ret, size);
}

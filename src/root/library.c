#include "library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

int library_load(const char *soname, const struct library_function *functions, size_t n,
		 void *table, struct err *err)
{
	void *handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return err_set(err, -ELIBACC, "%s", dlerror());
	for (size_t i = 0; i < n; i++) {
		if (dlsym(handle, functions[i].symbol))
			continue;
		dlclose(handle);
		return err_set(err, -ELIBBAD, "%s has no %s", soname, functions[i].symbol);
	}
	for (size_t i = 0; i < n; i++) {
		void *function = dlsym(handle, functions[i].symbol);
		memcpy((char *)table + functions[i].offset, &function, sizeof(function));
	}
	return 0;
}

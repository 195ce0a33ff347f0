#include "systemd_library.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "auto.h"
#include "library.h"

/* its promise about the types in its headers; Debian names the package libsystemd0 */
#define SONAME "libsystemd.so.0"

struct systemd_library systemd;

static const struct library_function functions[] = {
#define FUNCTION(name) { "sd_" #name, offsetof(struct systemd_library, name) },
	SYSTEMD_LIBRARY_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

static bool loaded;
static struct err failure;

static int load(struct err *err)
{
	struct err why = { 0 };
	int r = library_load(SONAME, functions, ARRAY_LEN(functions), &systemd, &why);

	if (r == -ELIBACC)
		return err_set(err, r,
			       "libsystemd0 is not installed: apt-get install libsystemd0 (%s)",
			       why.text);
	if (r < 0)
		*err = why;
	return r;
}

static void load_once(void)
{
	loaded = load(&failure) == 0;
}

int systemd_library_load(struct err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load_once);
	if (!loaded && err)
		*err = failure;
	return loaded ? 0 : failure.code;
}

/* Scope-bound cleanup: AUTO_FREE char *s = ...; is freed when s leaves its scope. */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define AUTO(fn) __attribute__((cleanup(fn)))

static inline void auto_free_fn(void *p)
{
	free(*(void **)p);
}

/* Keeps errno: a failing path may close on its way out. */
static inline void auto_close_fn(const int *fd)
{
	if (*fd >= 0) {
		int saved = errno;
		close(*fd);
		errno = saved;
	}
}

static inline void auto_fclose_fn(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void auto_closedir_fn(DIR **d)
{
	if (*d)
		closedir(*d);
}

#define AUTO_FREE     AUTO(auto_free_fn)
#define AUTO_CLOSE    AUTO(auto_close_fn)
#define AUTO_FCLOSE   AUTO(auto_fclose_fn)
#define AUTO_CLOSEDIR AUTO(auto_closedir_fn)

/* Hand an owned pointer or descriptor to the caller; the cleanup then finds nothing. */
#define TAKE_PTR(p)                      \
	({                               \
		__auto_type taken = (p); \
		(p) = NULL;              \
		taken;                   \
	})
#define TAKE_FD(fd)               \
	({                        \
		int taken = (fd); \
		(fd) = -1;        \
		taken;            \
	})

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))

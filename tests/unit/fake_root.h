/* A captured or invented host in a temporary directory, for readers under test. */
#pragma once

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "root.h"

struct fake_root {
	char dir[64];
	struct root root;
};

static inline struct fake_root fake_root_new(void)
{
	struct fake_root fake = { .dir = "/tmp/zscope-test-XXXXXX" };
	if (!mkdtemp(fake.dir) || root_open(fake.dir, &fake.root, NULL) < 0)
		abort();
	return fake;
}

static inline void fake_root_put_n(struct fake_root *fake, const char *path, const void *bytes,
				   size_t len)
{
	char full[4300];
	snprintf(full, sizeof(full), "%s/%s", fake->dir, path);
	for (char *p = full + strlen(fake->dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(full, 0755);
		*p = '/';
	}
	int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	close(fd);
}

static inline void fake_root_put(struct fake_root *fake, const char *path, const char *text)
{
	fake_root_put_n(fake, path, text, strlen(text));
}

static inline int fake_root_remove_one(const char *path, const struct stat *st, int type,
				       struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline void fake_root_free(struct fake_root *fake)
{
	root_close(&fake->root);
	nftw(fake->dir, fake_root_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#define AUTO_FAKE_ROOT __attribute__((cleanup(fake_root_free)))

/* What the files of import share with each other, and with nobody else. */
#pragma once

#include "import.h"
#include "import_symbols.h"
#include "perf_data.h"

struct import {
	const struct import_options *options;
	const struct import_ops *ops;
	void *arg;
	struct profile *p;
	struct import_info *info;
	uint64_t size;
	bool have_offset;
	int64_t offset_ns;
};

/* The time to store for a time on the recording's clock. The first call decides on the anchor. */
uint64_t import_time(struct import *im, uint64_t own_ns);
int import_add_sample(struct import *im, struct profile_sample *sample, struct err *err);

int import_perf_data(struct import *im, const struct perf_input *in, struct err *err);
int64_t import_read_at(void *fd, uint64_t offset, void *ret, size_t len);
/* The file with the header: path itself, or `data` in the directory. A negative value and errno. */
int import_open(const char *path);
int import_dir(struct import *im, const char *path, struct err *err);
int import_perf_script(struct import *im, int fd, struct err *err);
/* A descriptor that can be read at any offset: fd itself, or an unlinked file with its unpacked
 * content. */
int import_unpack(int fd, int *ret_fd, struct err *err);

/* The directory that `perf record --threads` (or --kcore) writes in place of a file: `data` with
 * the header, and data.0 to data.N, one per ring. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "import_impl.h"
#include "text.h"

enum { NAME_LEN = 32 };

struct dir_file {
	uint64_t number;
	char name[NAME_LEN];
	int fd;
};

struct import_dir {
	VEC(struct dir_file) files;
	int data_fd;
};

bool import_is_dir(const char *path)
{
	char magic[8];
	struct stat st;

	if (strcmp(path, "-") == 0 || stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	AUTO_CLOSE int fd = import_open(path);
	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       perf_data_is(magic, sizeof(magic));
}

int import_open(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode))
		return TAKE_FD(fd);
	return openat(fd, "data", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

static int number_compare(const void *a, const void *b)
{
	const struct dir_file *x = a, *y = b;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* "data.12" and nothing behind it. */
static bool name_number(const char *name, uint64_t *ret)
{
	if (!text_starts(name, "data.") || strlen(name) >= NAME_LEN)
		return false;
	const char *at = name + 5;
	return text_take_u64(&at, ret) == 0 && *at == '\0';
}

static int dir_list(struct import_dir *d, const char *path, struct err *err)
{
	AUTO_CLOSEDIR DIR *dir = opendir(path);
	struct dirent *e;

	if (!dir)
		return err_set(err, -errno, "%s", strerror(errno));
	while ((e = readdir(dir))) {
		struct dir_file f = { .fd = -1 };
		if (!name_number(e->d_name, &f.number))
			continue;
		text_copy(f.name, sizeof(f.name), e->d_name);
		f.fd = openat(dirfd(dir), f.name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (f.fd < 0)
			return err_set(err, -errno, "%s: %s", f.name, strerror(errno));
		if (!vec_push(&d->files, f)) {
			close(f.fd);
			return err_set(err, -ENOMEM, "out of memory");
		}
	}
	vec_sort(&d->files, number_compare);
	return 0;
}

static int dir_input(int *fd, struct perf_input *ret, struct err *err)
{
	struct stat st;

	if (fstat(*fd, &st) < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "no regular file");
	*ret = (struct perf_input){ .read_at = import_read_at,
				    .arg = fd,
				    .size = (uint64_t)st.st_size };
	return 0;
}

static int dir_read(struct import *im, struct import_dir *d, struct perf_input *more,
		    struct err *err)
{
	struct perf_input in;
	int r = dir_input(&d->data_fd, &in, err);

	im->size = r == 0 ? in.size : 0;
	for (size_t i = 0; i < d->files.len && r == 0; i++) {
		r = dir_input(&d->files.items[i].fd, &more[i], err);
		if (r < 0)
			return err_prefix(err, r, "%s", d->files.items[i].name);
		more[i].name = d->files.items[i].name;
		im->size += more[i].size;
	}
	if (r < 0)
		return r;
	in.dir = true;
	in.more = more;
	in.n_more = d->files.len;
	return import_perf_data(im, &in, err);
}

int import_dir(struct import *im, const char *path, struct err *err)
{
	struct import_dir d = { .data_fd = import_open(path) };
	int r = d.data_fd < 0 ? err_set(err, -errno, "data: %s", strerror(errno))
			      : dir_list(&d, path, err);

	if (r == 0) {
		AUTO_FREE struct perf_input *more = calloc(d.files.len + 1, sizeof(*more));
		r = more ? dir_read(im, &d, more, err) : err_set(err, -ENOMEM, "out of memory");
	}
	vec_foreach (&d.files, f)
		close(f->fd);
	vec_free(&d.files);
	if (d.data_fd >= 0)
		close(d.data_fd);
	return r;
}

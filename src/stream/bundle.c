#include "bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include "auto.h"
#include "tar.h"
#include "text.h"

enum {
	BUNDLE_LEVEL = 9,
	BUNDLE_MOST_BYTES = 512 << 20,
	BUNDLE_MOST_ENTRIES = 2000000,
	/* with the temporary directory in front still a path that can be removed again */
	BUNDLE_MOST_PATH = PATH_MAX - 64,
};

static void bundle_free_packer(ZSTD_CCtx **z)
{
	ZSTD_freeCCtx(*z);
}

int bundle_pack(const struct buf *tar, struct buf *ret, struct err *err)
{
	AUTO(bundle_free_packer) ZSTD_CCtx *z = ZSTD_createCCtx();
	size_t bound = ZSTD_compressBound(tar->len);

	if (!z || !buf_reserve(ret, bound))
		return err_set(err, -ENOMEM, "out of memory");
	ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, BUNDLE_LEVEL);
	/* without it, a bit that tips over on the way may make another host of it */
	ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
	size_t n = ZSTD_compress2(z, ret->data + ret->len, bound, tar->data, tar->len);
	if (ZSTD_isError(n))
		return err_set(err, -EIO, "zstd: %s", ZSTD_getErrorName(n));
	ret->len += n;
	return 0;
}

static void bundle_free_stream(ZSTD_DStream **s)
{
	ZSTD_freeDStream(*s);
}

int bundle_unpack(const void *bytes, size_t len, struct buf *ret_tar, struct err *err)
{
	static const unsigned char magic[4] = { 0x28, 0xb5, 0x2f, 0xfd };
	AUTO(bundle_free_stream) ZSTD_DStream *stream = ZSTD_createDStream();
	ZSTD_inBuffer in = { bytes, len, 0 };
	size_t left = 1;

	if (!stream)
		return err_set(err, -ENOMEM, "out of memory");
	if (len < 4 || memcmp(bytes, magic, 4) != 0) {
		buf_add(ret_tar, bytes, len);
		return ret_tar->failed ? err_set(err, -ENOMEM, "out of memory") : 0;
	}
	while (in.pos < in.size || left) {
		if (!buf_reserve(ret_tar, 1 << 20))
			return err_set(err, -ENOMEM, "out of memory");
		ZSTD_outBuffer out = { ret_tar->data + ret_tar->len, 1 << 20, 0 };
		size_t before = in.pos;
		left = ZSTD_decompressStream(stream, &out, &in);
		if (ZSTD_isError(left))
			return err_set(err, -EBADMSG, "zstd: %s", ZSTD_getErrorName(left));
		ret_tar->len += out.pos;
		if (ret_tar->len > BUNDLE_MOST_BYTES)
			return err_set(err, -EFBIG, "more than %d MB unpacked",
				       BUNDLE_MOST_BYTES >> 20);
		if (!out.pos && in.pos == before && left)
			return err_set(err, -EBADMSG, "cut short");
	}
	ret_tar->data[ret_tar->len] = '\0';
	return 0;
}

/* The directory that holds the last component, made as needed; *ret_name is that component. Returns
 * a descriptor; -EXDEV where a link or ".." might lead out. */
static int bundle_parent(int dir, const char *path, char *scratch, size_t size,
			 const char **ret_name)
{
	AUTO_CLOSE int fd = dup(dir);
	char *part = scratch;

	if (fd < 0)
		return -errno;
	if (!text_copy(scratch, size, path))
		return -ENAMETOOLONG;
	for (;;) {
		while (*part == '/')
			part++;
		char *slash = strchr(part, '/');
		size_t len = slash ? (size_t)(slash - part) : strlen(part);
		while (slash && *slash == '/')
			*slash++ = '\0';
		if (strcmp(part, "..") == 0)
			return -EXDEV;
		if (!slash || !*slash) { /* the last one; a directory may end in a slash */
			part[len] = '\0';
			*ret_name = part;
			return TAKE_FD(fd);
		}
		if (len && strcmp(part, ".") != 0) {
			(void)mkdirat(fd, part, 0700);
			int next =
				openat(fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (next < 0) /* a link, or a file */
				return errno == ELOOP || errno == ENOTDIR ? -EXDEV : -errno;
			close(fd);
			fd = next;
		}
		part = slash;
	}
}

static int bundle_write(int parent, const char *name, const char *data, size_t len)
{
	AUTO_CLOSE int fd =
		openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno == EEXIST ? 0 : -errno; /* the first of two equal names counts */
	while (len) {
		ssize_t n = write(fd, data, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static int bundle_extract_one(int dir, const struct tar_entry *e)
{
	char scratch[BUNDLE_MOST_PATH];
	const char *name = NULL;
	AUTO_CLOSE int parent = bundle_parent(dir, e->path, scratch, sizeof(scratch), &name);

	if (parent < 0)
		return parent;
	if (!*name || strcmp(name, ".") == 0)
		return 0;
	if (e->type == TAR_DIR)
		return mkdirat(parent, name, 0700) < 0 && errno != EEXIST ? -errno : 0;
	if (e->type == TAR_LINK)
		return symlinkat(e->link, parent, name) < 0 && errno != EEXIST ? -errno : 0;
	return e->type == TAR_FILE ? bundle_write(parent, name, e->data, e->len) : 0;
}

int bundle_extract(const struct buf *tar, const char *dir, struct err *err)
{
	AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_ARENA struct arena arena = { 0 };
	struct tar_reader reader = { .at = buf_str(tar), .end = buf_str(tar) + tar->len };
	struct tar_entry entry;
	unsigned count = 0;

	if (fd < 0)
		return err_path(err, -errno, dir);
	for (;;) {
		int r = tar_next(&reader, &arena, &entry, err);
		if (r <= 0)
			return r;
		if (++count > BUNDLE_MOST_ENTRIES)
			return err_set(err, -E2BIG, "too many entries");
		r = bundle_extract_one(fd, &entry);
		if (r == -EXDEV)
			return err_set(err, r,
				       "refused: '%.200s' may lead out of it, no 'zscope capture' "
				       "writes such a name",
				       entry.path);
		if (r < 0)
			return err_set(err, r, "%.200s: %s", entry.path, strerror(-r));
	}
}

static int bundle_read_file(const char *file, struct buf *out, struct err *err)
{
	AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return err_path(err, -errno, file);
	for (;;) {
		if (!buf_reserve(out, 1 << 20) || out->len > BUNDLE_MOST_BYTES)
			return err_path(err, -EFBIG, file);
		ssize_t n = read(fd, out->data + out->len, 1 << 20);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_path(err, -errno, file);
		if (n == 0)
			return 0;
		out->len += (size_t)n;
	}
}

static int bundle_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	(void)remove(path);
	return 0;
}

static void bundle_remove(const char *dir)
{
	(void)nftw(dir, bundle_remove_one, 32, FTW_DEPTH | FTW_PHYS);
}

/* In the child. Not of our terminal's session and without its files: Ctrl-C goes past it, and who
 * reads our output does not wait for it. */
static void bundle_clean(const char *dir, int end)
{
	sigset_t all;
	char c;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	while (read(end, &c, 1) < 0 && errno == EINTR)
		;
	bundle_remove(dir);
	_exit(0);
}

/* Without the child, bundle_close is what takes the directory away. */
static void bundle_guard(struct bundle *b)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	b->cleaner = fork();
	if (b->cleaner == 0) {
		close(ends[1]);
		bundle_clean(b->dir, ends[0]);
	}
	close(ends[0]);
	if (b->cleaner > 0)
		b->alive = ends[1];
	else
		close(ends[1]);
}

/* Which file it is, and what to do about it. */
static int bundle_tell(const char *file, int code, struct err *err)
{
	struct err told;

	if (!err)
		return code;
	told = *err;
	if (code == -EBADMSG)
		return err_set(err, code, "%s: damaged (%s): copy it again, or capture anew", file,
			       told.text);
	if (code == -EPROTO)
		return err_set(err, code,
			       "%s: %s: damaged, or not a file that 'zscope capture' wrote", file,
			       told.text);
	return err_prefix(err, code, "%s", file);
}

int bundle_open(const char *file, struct bundle *ret, struct err *err)
{
	AUTO_BUF struct buf packed = { 0 };
	AUTO_BUF struct buf tar = { 0 };
	struct bundle b = { .dir = "/tmp/zscope-root-XXXXXX", .alive = -1 };

	int r = bundle_read_file(file, &packed, err);
	if (r < 0)
		return r;
	if (!packed.len)
		return err_set(err, -ENODATA, "%s: empty, no capture", file);
	if (!mkdtemp(b.dir))
		return err_path(err, -errno, "/tmp");
	bundle_guard(&b); /* before much memory is taken, which the child would hold on to */
	r = bundle_unpack(packed.data, packed.len, &tar, err);
	buf_free(&packed);
	if (r == 0)
		r = bundle_extract(&tar, b.dir, err);
	if (r < 0) {
		bundle_close(&b);
		return bundle_tell(file, r, err);
	}
	*ret = b;
	return 0;
}

void bundle_close(struct bundle *b)
{
	if (!*b->dir)
		return;
	if (b->cleaner > 0) {
		close(b->alive);
		while (waitpid(b->cleaner, NULL, 0) < 0 && errno == EINTR)
			;
	}
	bundle_remove(b->dir); /* there was no cleaner, or it was killed */
	b->dir[0] = '\0';
}

/* gzip and zstd files, and input that cannot be read twice, into an unlinked temporary file: the
 * memory that a hostile archive could fill is the disk's, and it is bounded. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "auto.h"
#include "import_impl.h"

enum { CHUNK = 256 << 10 };

#define UNPACKED_MAX (UINT64_C(64) << 30)

struct unpack {
	int in, out;
	uint64_t written;
	uint8_t *from, *to;
};

static int unpack_write(struct unpack *u, const void *bytes, size_t len, struct err *err)
{
	const char *at = bytes;

	u->written += len;
	if (u->written > UNPACKED_MAX)
		return err_set(err, -EFBIG, "it unpacks to more than 64 GiB");
	while (len) {
		ssize_t n = write(u->out, at, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, -errno, "writing a temporary file: %s",
				       strerror(errno));
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static ssize_t unpack_read(struct unpack *u, struct err *err)
{
	ssize_t n;

	do {
		n = read(u->in, u->from, CHUNK);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? err_set(err, -errno, "%s", strerror(errno)) : n;
}

static int unpack_copy(struct unpack *u, struct err *err)
{
	ssize_t n;

	while ((n = unpack_read(u, err)) > 0) {
		int r = unpack_write(u, u->from, (size_t)n, err);
		if (r < 0)
			return r;
	}
	return (int)n;
}

static int unpack_gzip(struct unpack *u, struct err *err)
{
	z_stream z = { 0 };
	int status = Z_OK, r = 0;
	ssize_t n;

	if (inflateInit2(&z, 15 + 16) != Z_OK)
		return err_set(err, -ENOMEM, "out of memory");
	while (r == 0 && (n = unpack_read(u, err)) > 0) {
		z.next_in = u->from;
		z.avail_in = (unsigned)n;
		do {
			z.next_out = u->to;
			z.avail_out = CHUNK;
			if (status == Z_STREAM_END)
				inflateReset(&z); /* a further member follows */
			status = inflate(&z, Z_NO_FLUSH);
			if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
				r = err_set(err, -EBADMSG, "its gzip stream is broken");
				break;
			}
			r = unpack_write(u, u->to, CHUNK - z.avail_out, err);
		} while (r == 0 && (z.avail_in || z.avail_out == 0) &&
			 !(status == Z_BUF_ERROR && z.avail_out));
	}
	inflateEnd(&z);
	if (r == 0 && status != Z_STREAM_END)
		r = err_set(err, -EBADMSG, "its gzip stream is cut");
	return r;
}

static int unpack_zstd(struct unpack *u, struct err *err)
{
	ZSTD_DCtx *z = ZSTD_createDCtx();
	size_t left = 1;
	int r = z ? 0 : err_set(err, -ENOMEM, "out of memory");
	ssize_t n;

	while (r == 0 && (n = unpack_read(u, err)) > 0) {
		ZSTD_inBuffer in = { .src = u->from, .size = (size_t)n };
		bool full = false;
		while (r == 0 && (in.pos < in.size || full)) {
			ZSTD_outBuffer out = { .dst = u->to, .size = CHUNK };
			left = ZSTD_decompressStream(z, &out, &in);
			full = out.pos == out.size;
			if (ZSTD_isError(left))
				r = err_set(err, -EBADMSG, "its zstd stream is broken: %s",
					    ZSTD_getErrorName(left));
			else
				r = unpack_write(u, u->to, out.pos, err);
		}
	}
	ZSTD_freeDCtx(z);
	if (r == 0 && left)
		r = err_set(err, -EBADMSG, "its zstd stream is cut");
	return r;
}

static int unpack_run(int fd, int out, int (*how)(struct unpack *, struct err *), struct err *err)
{
	struct unpack u = { .in = fd, .out = out, .from = malloc(CHUNK), .to = malloc(CHUNK) };
	int r = u.from && u.to ? how(&u, err) : err_set(err, -ENOMEM, "out of memory");

	free(u.from);
	free(u.to);
	return r;
}

int import_unpack(int fd, int *ret_fd, struct err *err)
{
	uint8_t magic[4] = { 0 };
	bool seekable = lseek(fd, 0, SEEK_SET) == 0;
	int (*how)(struct unpack *, struct err *) = unpack_copy;

	if (seekable) {
		ssize_t n = pread(fd, magic, sizeof(magic), 0);
		if (n < 0)
			return err_set(err, -errno, "%s", strerror(errno));
		if (n >= 2 && magic[0] == 0x1f && magic[1] == 0x8b)
			how = unpack_gzip;
		else if (n == 4 && memcmp(magic, "\x28\xb5\x2f\xfd", 4) == 0)
			how = unpack_zstd;
		else {
			*ret_fd = fd;
			return 0;
		}
	}
	const char *dir = getenv("TMPDIR");
	AUTO_CLOSE int out =
		open(dir && dir[0] == '/' ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (out < 0)
		return err_set(err, -errno, "making a temporary file: %s", strerror(errno));
	int r = unpack_run(fd, out, how, err);
	if (r < 0)
		return r;
	if (!seekable) { /* what came through the pipe may be compressed itself */
		r = import_unpack(out, ret_fd, err);
		if (r == 0 && *ret_fd == out)
			(void)TAKE_FD(out);
		return r;
	}
	*ret_fd = TAKE_FD(out);
	return 0;
}

#include "log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "auto.h"
#include "text.h"

enum { LOG_BLOCK = 1 << 20, LOG_PACKED = 1 << 17 };

enum log_packing { LOG_UNKNOWN, LOG_PLAIN, LOG_GZIP, LOG_ZSTD };

struct log_file {
	int fd;
	char name[256];
	enum log_packing packing;
	bool ended;      /* the input is at its end */
	bool mid_stream; /* inside a compressed member: an end here is a truncation */
	bool skipping;   /* the rest of a line that was cut */
	uint64_t cut_lines;
	struct err err; /* given after everything that could be read */
	z_stream gzip;
	ZSTD_DStream *zstd;
	size_t packed_at, packed_len;
	size_t given, len; /* block[0..given) was handed out, block[given..len) is carried over */
	char block[LOG_BLOCK];
	char packed[LOG_PACKED];
};

int log_file_open(const char *path, struct log_file **ret, struct err *err)
{
	struct stat st;
	bool standard = strcmp(path, "-") == 0;
	AUTO_CLOSE int fd = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_path(err, -errno, path);
	if (S_ISDIR(st.st_mode))
		return err_path(err, -EISDIR, path);
	struct log_file *f = calloc(1, sizeof(*f));
	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	text_copy(f->name, sizeof(f->name), standard ? "standard input" : path);
	f->fd = TAKE_FD(fd);
	*ret = f;
	return 0;
}

static int log_fail(struct log_file *f, int code, const char *why)
{
	f->ended = true;
	return err_set(&f->err, code, "%s: %s", f->name, why);
}

/* More compressed bytes; false at the end. */
static bool log_refill(struct log_file *f)
{
	if (f->packed_at < f->packed_len)
		return true;
	ssize_t n;
	do
		n = read(f->fd, f->packed, sizeof(f->packed));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		log_fail(f, -errno, strerror(errno));
	f->packed_at = 0;
	f->packed_len = n > 0 ? (size_t)n : 0;
	return n > 0;
}

static void log_tell_packing(struct log_file *f)
{
	const unsigned char *p = (const unsigned char *)f->packed;

	f->packing = LOG_PLAIN;
	if (!log_refill(f))
		return;
	if (f->packed_len >= 3 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8) {
		f->packing = LOG_GZIP;
		if (inflateInit2(&f->gzip, 16 + MAX_WBITS) != Z_OK)
			log_fail(f, -ENOMEM, "out of memory");
	} else if (f->packed_len >= 4 && p[0] == 0x28 && p[1] == 0xb5 && p[2] == 0x2f &&
		   p[3] == 0xfd) {
		f->packing = LOG_ZSTD;
		f->zstd = ZSTD_createDStream();
		if (!f->zstd)
			log_fail(f, -ENOMEM, "out of memory");
	}
}

static size_t log_unpack_gzip(struct log_file *f, char *to, size_t room)
{
	f->gzip.next_in = (Bytef *)f->packed + f->packed_at;
	f->gzip.avail_in = (uInt)(f->packed_len - f->packed_at);
	f->gzip.next_out = (Bytef *)to;
	f->gzip.avail_out = (uInt)room;
	int r = inflate(&f->gzip, Z_NO_FLUSH);
	f->packed_at = f->packed_len - f->gzip.avail_in;
	f->mid_stream = r != Z_STREAM_END;
	if (r == Z_STREAM_END) /* members may follow each other (logrotate, cat) */
		inflateReset(&f->gzip);
	else if (r != Z_OK && r != Z_BUF_ERROR)
		log_fail(f, -EBADMSG, "damaged gzip data");
	return room - f->gzip.avail_out;
}

static size_t log_unpack_zstd(struct log_file *f, char *to, size_t room)
{
	ZSTD_inBuffer in = { f->packed + f->packed_at, f->packed_len - f->packed_at, 0 };
	ZSTD_outBuffer out = { to, room, 0 };
	size_t r = ZSTD_decompressStream(f->zstd, &out, &in);

	f->packed_at += in.pos;
	f->mid_stream = r != 0;
	if (ZSTD_isError(r))
		log_fail(f, -EBADMSG, "damaged zstd data");
	return out.pos;
}

/* Decompressed bytes into [to, to + room); 0 at the end or when it failed. */
static size_t log_fill(struct log_file *f, char *to, size_t room)
{
	if (f->packing == LOG_UNKNOWN)
		log_tell_packing(f);
	while (!f->ended) {
		if (!log_refill(f)) {
			if (f->mid_stream && !f->err.code)
				log_fail(f, -EBADMSG, "the compressed data is cut off");
			f->ended = true;
			return 0;
		}
		size_t n;
		if (f->packing == LOG_PLAIN) {
			n = MIN_OF(room, f->packed_len - f->packed_at);
			memcpy(to, f->packed + f->packed_at, n);
			f->packed_at += n;
		} else {
			n = f->packing == LOG_GZIP ? log_unpack_gzip(f, to, room)
						   : log_unpack_zstd(f, to, room);
		}
		if (n)
			return n;
	}
	return 0;
}

/* Drop what belongs to a line that was cut before. */
static void log_skip_rest(struct log_file *f)
{
	const char *newline = memchr(f->block, '\n', f->len);
	size_t drop = newline ? (size_t)(newline - f->block) + 1 : f->len;

	f->skipping = !newline;
	memmove(f->block, f->block + drop, f->len - drop);
	f->len -= drop;
}

int log_file_next(struct log_file *f, const char **ret, size_t *ret_len, struct err *err)
{
	memmove(f->block, f->block + f->given, f->len - f->given);
	f->len -= f->given;
	f->given = 0;
	for (;;) {
		size_t n = log_fill(f, f->block + f->len, sizeof(f->block) - f->len);
		f->len += n;
		if (f->skipping)
			log_skip_rest(f);
		const char *last = n ? memrchr(f->block, '\n', f->len) : NULL;
		if (last) {
			f->given = (size_t)(last - f->block) + 1;
		} else if (f->len == sizeof(f->block)) {
			f->cut_lines++;
			f->skipping = true;
			f->given = f->len;
		} else if (!n && f->len) {
			f->given = f->len;
		} else if (!n) {
			if (f->err.code)
				return err_set(err, f->err.code, "%s", f->err.text);
			return 0;
		} else {
			continue;
		}
		*ret = f->block;
		*ret_len = f->given;
		return 1;
	}
}

uint64_t log_file_cut_lines(const struct log_file *f)
{
	return f->cut_lines;
}

const char *log_file_name(const struct log_file *f)
{
	return f->name;
}

void log_file_close(struct log_file *f)
{
	if (!f)
		return;
	if (f->packing == LOG_GZIP)
		inflateEnd(&f->gzip);
	ZSTD_freeDStream(f->zstd);
	if (f->fd >= 0)
		close(f->fd);
	free(f);
}

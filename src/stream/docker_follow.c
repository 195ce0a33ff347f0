#include "docker_follow.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "auto.h"
#include "text.h"

enum { FOLLOW_LINE_MOST = 1 << 20, FOLLOW_HEAD_MOST = 64 << 10 };

int docker_follow_open(struct docker_follow *f, const struct docker_socket *socket_,
		       struct err *err)
{
	static const char request[] = "GET " DOCKER_EVENTS_FOLLOW
				      " HTTP/1.1\r\nHost: localhost\r\nUser-Agent: zscope\r\n\r\n";
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	text_copy(sa.sun_path, sizeof(sa.sun_path), socket_->path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
	    send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) != sizeof(request) - 1)
		return err_set(err, errno ? -errno : -EIO, "%s: %s", socket_->path,
			       strerror(errno));
	f->socket = *socket_;
	f->fd = TAKE_FD(fd);
	f->in_body = false;
	buf_clear(&f->raw);
	buf_clear(&f->line);
	return 0;
}

static void follow_lines(struct docker_follow *f, docker_follow_fn each, void *arg)
{
	size_t at = 0;
	char *eol;

	while (f->line.len > at && (eol = memchr(f->line.data + at, '\n', f->line.len - at))) {
		AUTO_ARENA struct arena arena = { 0 };
		struct rec_container_event event;
		size_t n = (size_t)(eol - f->line.data) - at;
		if (docker_parse_event(f->line.data + at, n, f->socket.runtime, &arena, &event) ==
		    0)
			each(arg, &event);
		at += n + 1;
	}
	if (at) /* before the first line there is no buffer yet */
		memmove(f->line.data, f->line.data + at, f->line.len - at);
	f->line.len -= at;
	if (f->line.len > FOLLOW_LINE_MOST)
		f->line.len =
			0; /* no event is that long: drop it, the next newline starts afresh */
}

/* 1 = a chunk was taken, 0 = more bytes are needed. */
static int follow_chunk(struct docker_follow *f)
{
	char *eol = memchr(f->raw.data, '\n', f->raw.len);
	char text[20];
	const char *p = text;
	uint64_t size;

	if (!eol)
		return f->raw.len > 64 ? -EBADMSG : 0;
	size_t head = (size_t)(eol - f->raw.data) + 1;
	if (head > sizeof(text) || !text_copy_n(text, sizeof(text), f->raw.data, head - 1) ||
	    text_take_hex(&p, &size) < 0 || size > FOLLOW_LINE_MOST)
		return -EBADMSG;
	if (size == 0)
		return -ENOTCONN; /* the last chunk: the engine ends the stream */
	if (f->raw.len < head + size + 2)
		return 0;
	buf_add(&f->line, f->raw.data + head, size);
	f->raw.len -= head + size + 2;
	memmove(f->raw.data, f->raw.data + head + size + 2, f->raw.len);
	return 1;
}

int docker_follow_feed(struct docker_follow *f, const void *bytes, size_t len,
		       docker_follow_fn each, void *arg)
{
	int r = 1;

	buf_add(&f->raw, bytes, len);
	if (!f->in_body) {
		char *end = f->raw.len ? memmem(f->raw.data, f->raw.len, "\r\n\r\n", 4) : NULL;
		if (!end)
			return f->raw.len > FOLLOW_HEAD_MOST ? -EBADMSG : 0;
		if (f->raw.len < 12 || memcmp(f->raw.data, "HTTP/1.1 200", 12) != 0)
			return -EBADMSG;
		size_t head = (size_t)(end + 4 - f->raw.data);
		f->raw.len -= head;
		memmove(f->raw.data, f->raw.data + head, f->raw.len);
		f->in_body = true;
	}
	while (r > 0 && f->raw.len)
		r = follow_chunk(f);
	follow_lines(f, each, arg);
	return r < 0 ? r : 0;
}

int docker_follow_ready(struct docker_follow *f, docker_follow_fn each, void *arg)
{
	char bytes[16384];
	ssize_t n;

	while ((n = recv(f->fd, bytes, sizeof(bytes), 0)) > 0) {
		int r = docker_follow_feed(f, bytes, (size_t)n, each, arg);
		if (r < 0)
			return -ENOTCONN;
	}
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -ENOTCONN;
}

void docker_follow_close(struct docker_follow *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	buf_free(&f->raw);
	buf_free(&f->line);
}

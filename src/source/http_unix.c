#include "http_unix.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "auto.h"
#include "text.h"
#include "timefmt.h"

/* The value of a header in the head [at, end); NULL when absent. */
static const char *http_header(const char *at, const char *end, const char *name, size_t *ret_len)
{
	size_t n = strlen(name);

	while (at < end) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((eol ? eol : end) - at);
		if (len > n && at[n] == ':' && strncasecmp(at, name, n) == 0) {
			const char *v = at + n + 1;
			len -= n + 1;
			while (len && (*v == ' ' || *v == '\t'))
				v++, len--;
			while (len && (v[len - 1] == '\r' || v[len - 1] == ' '))
				len--;
			*ret_len = len;
			return v;
		}
		if (!eol)
			break;
		at = eol + 1;
	}
	return NULL;
}

static int http_chunks(const char *at, const char *end, struct buf *out)
{
	for (;;) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		char size_text[20];
		uint64_t size;
		if (!eol)
			return end - at > 64 ? -EBADMSG : 0;
		size_t n = (size_t)(eol - at);
		const char *p = size_text;
		if (n >= sizeof(size_text) || !text_copy_n(size_text, sizeof(size_text), at, n) ||
		    text_take_hex(&p, &size) < 0 || size > HTTP_BODY_MOST)
			return -EBADMSG;
		at = eol + 1;
		if (size == 0)
			return 1;
		if ((uint64_t)(end - at) < size)
			return 0;
		if (out->len + size > HTTP_BODY_MOST)
			return -EFBIG;
		buf_add(out, at, size);
		at += size;
		if (end - at >= 2 && at[0] == '\r' && at[1] == '\n')
			at += 2;
		else if (end - at >= 2)
			return -EBADMSG;
		else
			return 0;
	}
}

int http_parse(const char *bytes, size_t len, bool ended, struct http_answer *ret)
{
	const char *end = bytes + len;
	const char *body = memmem(bytes, len, "\r\n\r\n", 4);
	size_t n;
	uint64_t status, length;

	if (!body)
		return len > HTTP_HEAD_MOST || ended ? -EBADMSG : 0;
	if (len < 12 || memcmp(bytes, "HTTP/1.", 7) != 0)
		return -EBADMSG;
	const char *p = bytes + 9;
	if (text_take_u64(&p, &status) < 0 || status < 100 || status > 599)
		return -EBADMSG;
	const char *head = memchr(bytes, '\n', len) + 1, *head_end = body + 2;
	body += 4;
	ret->status = (int)status;
	buf_clear(&ret->body);
	const char *v = http_header(head, head_end, "Transfer-Encoding", &n);
	if (v && n == 7 && strncasecmp(v, "chunked", 7) == 0) {
		int r = http_chunks(body, end, &ret->body);
		return r == 0 && ended ? 1 : r; /* a cut stream still gives what came */
	}
	v = http_header(head, head_end, "Content-Length", &n);
	if (v) {
		char text[24];
		if (!text_copy_n(text, sizeof(text), v, n) || text_u64(text, &length) < 0 ||
		    length > HTTP_BODY_MOST)
			return -EBADMSG;
		if ((uint64_t)(end - body) < length)
			return ended ? -EBADMSG : 0;
		buf_add(&ret->body, body, length);
		return 1;
	}
	if (!ended)
		return 0;
	buf_add(&ret->body, body, (size_t)(end - body));
	return 1;
}

static int http_wait(int fd, short events, uint64_t deadline_ns)
{
	uint64_t now = clock_mono_ns();
	struct pollfd p = { .fd = fd, .events = events };

	if (now >= deadline_ns)
		return -ETIMEDOUT;
	int r = poll(&p, 1, (int)((deadline_ns - now) / NS_PER_MS + 1));
	if (r < 0)
		return errno == EINTR ? 0 : -errno;
	return r == 0 ? -ETIMEDOUT : 0;
}

static int http_connect(const char *path, uint64_t deadline_ns)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (!text_copy(sa.sun_path, sizeof(sa.sun_path), path))
		return -ENAMETOOLONG;
	/* EAGAIN: the listener's queue is full; a socket file gives nothing to wait on */
	while (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0) {
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (clock_mono_ns() >= deadline_ns)
			return -ETIMEDOUT;
		poll(NULL, 0, 20);
	}
	return TAKE_FD(fd);
}

int http_unix_get(const char *socket_path, const char *target, uint64_t deadline_ns,
		  struct http_answer *ret, struct err *err)
{
	static const struct http_request get = { .method = "GET" };

	return http_unix_ask(socket_path, target, &get, deadline_ns, ret, err);
}

int http_unix_ask(const char *socket_path, const char *target, const struct http_request *what,
		  uint64_t deadline_ns, struct http_answer *ret, struct err *err)
{
	AUTO_BUF struct buf request = { 0 }, answer = { 0 };
	AUTO_CLOSE int fd = http_connect(socket_path, deadline_ns);
	size_t sent = 0;
	int r = fd < 0 ? fd : 0;
	bool ended = false;

	buf_addf(&request, "%s %s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: zscope\r\n",
		 what->method, target);
	if (what->type)
		buf_addf(&request, "Content-Type: %s\r\nContent-Length: %zu\r\n", what->type,
			 what->len);
	buf_addf(&request, "Connection: close\r\n\r\n");
	buf_add(&request, what->body, what->len);
	while (r == 0 && sent < request.len) {
		ssize_t n = send(fd, request.data + sent, request.len - sent, MSG_NOSIGNAL);
		if (n > 0)
			sent += (size_t)n;
		else if (n < 0 && errno == EAGAIN)
			r = http_wait(fd, POLLOUT, deadline_ns);
		else if (n < 0 && errno != EINTR)
			r = -errno;
	}
	while (r == 0) {
		if (!buf_reserve(&answer, 65536))
			r = -ENOMEM;
		else if (answer.len > 2 * (size_t)HTTP_BODY_MOST)
			r = -EFBIG;
		else
			r = http_wait(fd, POLLIN, deadline_ns);
		if (r < 0)
			break;
		ssize_t n = recv(fd, answer.data + answer.len, answer.cap - answer.len - 1, 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0) {
			r = -errno;
			break;
		}
		answer.len += (size_t)n;
		ended = n == 0;
		r = http_parse(answer.data, answer.len, ended, ret);
		if (r == 0 && ended)
			r = -EBADMSG;
	}
	if (r < 0)
		return err_set(err, r, "%s: %s", socket_path,
			       r == -ETIMEDOUT ? "no answer in time" : strerror(-r));
	return 0;
}

void http_answer_free(struct http_answer *a)
{
	buf_free(&a->body);
}

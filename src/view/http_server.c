#include "http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <zlib.h>

#include "auto.h"
#include "http_library.h"
#include "http_live.h"
#include "json.h"
#include "map.h"
#include "text.h"
#include "web_assets.h"

enum {
	SERVER_THREADS = 4,
	SERVER_MOST_CONNECTIONS = 512,
	SERVER_TIMEOUT_S = 15,
	SERVER_CONNECTION_BYTES = 16384,
	SERVER_GZIP_FROM = 1024, /* smaller bodies fit into one packet anyway */
};

/* Filled by http_server_start, before there is a thread that calls it. */
static struct http_library mhd;

struct http_server {
	struct MHD_Daemon *daemon;
	struct http_live *live;
	struct http_options options;
	char hosts[1024];
	uint16_t port;
};

/* One request between its first line and its answer. */
struct exchange {
	int parsed; /* of http_query_parse */
	bool seen;  /* the library calls once for the head and once for the whole request */
	struct err err;
	struct http_query query;
};

static const struct {
	const char *name, *value;
} fixed_headers[] = {
	{ "Content-Security-Policy",
	  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
	  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "X-Frame-Options", "DENY" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Cross-Origin-Opener-Policy", "same-origin" },
	{ "Vary", "Accept-Encoding, Accept" },
};

static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned status,
				     const char *type, const char *etag, const char *encoding,
				     const char *cache, struct MHD_Response *response)
{
	enum MHD_Result r;

	if (!response)
		return MHD_NO;
	for (size_t i = 0; i < ARRAY_LEN(fixed_headers); i++)
		mhd.add_response_header(response, fixed_headers[i].name, fixed_headers[i].value);
	mhd.add_response_header(response, "Content-Type", type);
	mhd.add_response_header(response, "Cache-Control", cache);
	if (etag)
		mhd.add_response_header(response, "ETag", etag);
	if (encoding)
		mhd.add_response_header(response, "Content-Encoding", encoding);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		mhd.add_response_header(response, "Allow", "GET");
	if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
		mhd.add_response_header(response, "Retry-After", "2");
	r = mhd.queue_response(connection, status, response);
	mhd.destroy_response(response);
	return r;
}

static enum MHD_Result send_error(struct MHD_Connection *connection, unsigned status,
				  const char *text)
{
	AUTO_BUF struct buf out = { 0 };
	struct json j;

	json_init(&j, &out);
	json_object(&j, NULL);
	json_str(&j, "schema", "zombiescope/error/1");
	json_object(&j, "error");
	json_u64(&j, "status", status);
	json_str(&j, "text", text);
	json_end_object(&j);
	json_end_object(&j);
	buf_add_char(&out, '\n');
	return send_response(connection, status, "application/json", NULL, NULL, "no-store",
			     mhd.create_response_from_buffer(out.len, (void *)buf_str(&out),
							     MHD_RESPMEM_MUST_COPY));
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return mhd.lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static bool same_etag(struct MHD_Connection *connection, const char *etag)
{
	const char *known = header(connection, "If-None-Match");
	return known && strstr(known, etag);
}

static enum MHD_Result send_asset(struct MHD_Connection *connection, const struct web_asset *a)
{
	bool packed = http_accepts(header(connection, "Accept-Encoding"), "gzip");
	char etag[40];

	snprintf(etag, sizeof(etag), "\"%s%s\"", a->etag, packed ? "-z" : "");
	if (same_etag(connection, etag))
		return send_response(
			connection, MHD_HTTP_NOT_MODIFIED, a->type, etag, NULL, "no-cache",
			mhd.create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT));
	return send_response(
		connection, MHD_HTTP_OK, a->type, etag, packed ? "gzip" : NULL, "no-cache",
		mhd.create_response_from_buffer(packed ? a->packed_len : a->plain_len,
						(void *)(packed ? a->packed : a->plain),
						MHD_RESPMEM_PERSISTENT));
}

/* Fast compression: the reader sits on the same machine or behind a tunnel. */
static bool gzip_body(const struct buf *in, struct buf *out)
{
	z_stream z = { 0 };
	bool ok;

	if (deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	ok = buf_reserve(out, deflateBound(&z, in->len));
	if (ok) {
		z.next_in = (Bytef *)in->data;
		z.avail_in = (uInt)in->len;
		z.next_out = (Bytef *)out->data;
		z.avail_out = (uInt)deflateBound(&z, in->len);
		ok = deflate(&z, Z_FINISH) == Z_STREAM_END;
		out->len = z.total_out;
	}
	deflateEnd(&z);
	return ok;
}

static enum MHD_Result send_answer(struct MHD_Connection *connection, struct http_answer *answer)
{
	AUTO_BUF struct buf packed = { 0 };
	const char *type = answer->type ? answer->type : "application/json";
	bool gzip = answer->body.len >= SERVER_GZIP_FROM &&
		    http_accepts(header(connection, "Accept-Encoding"), "gzip");
	bool tagged = !answer->type; /* metrics differ from scrape to scrape: no hash of them */
	char etag[40] = "";
	struct buf *body = &answer->body;
	void *bytes;
	size_t len;

	if (tagged)
		snprintf(etag, sizeof(etag), "\"%016" PRIx64 "%s\"",
			 hash_bytes(body->data, body->len), gzip ? "-z" : "");
	if (tagged && same_etag(connection, etag))
		return send_response(
			connection, MHD_HTTP_NOT_MODIFIED, type, etag, NULL, "no-cache",
			mhd.create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT));
	if (gzip && gzip_body(body, &packed))
		body = &packed;
	else
		gzip = false;
	len = body->len;
	bytes = buf_take(body);
	if (!bytes)
		return MHD_NO;
	return send_response(connection, answer->status, type, tagged ? etag : NULL,
			     gzip ? "gzip" : NULL, "no-cache",
			     mhd.create_response_from_buffer(len, bytes, MHD_RESPMEM_MUST_FREE));
}

static unsigned status_of(int code)
{
	switch (code) {
	case -ENOENT:
	case -ENODATA:
		return MHD_HTTP_NOT_FOUND;
	case -EINVAL:
	case -E2BIG:
	case -ERANGE:
		return MHD_HTTP_BAD_REQUEST;
	case -EBUSY:
		return MHD_HTTP_SERVICE_UNAVAILABLE;
	case -ESTALE:
		return MHD_HTTP_GONE;
	default:
		return MHD_HTTP_INTERNAL_SERVER_ERROR;
	}
}

static enum MHD_Result serve_handler(struct http_server *s, struct MHD_Connection *connection,
				     const struct http_query *query)
{
	struct http_request request = { .query = query, .accept = header(connection, "Accept") };
	struct http_answer answer = { .status = MHD_HTTP_OK };
	struct err err = { 0 };
	enum MHD_Result sent;
	int r = s->options.handler(s->options.arg, &request, &answer, &err);

	if (r >= 0 && answer.body.failed)
		r = err_set(&err, -ENOMEM, "out of memory");
	if (r < 0)
		sent = send_error(connection, status_of(r), err.text);
	else
		sent = send_answer(connection, &answer);
	buf_free(&answer.body);
	return sent;
}

/* Who may ask, before what is asked. NULL = allowed. */
static const char *refusal(const struct http_server *s, struct MHD_Connection *connection,
			   const struct exchange *x)
{
	const char *host = header(connection, "Host");
	const char *site = header(connection, "Sec-Fetch-Site");

	if (!http_host_allowed(host, s->hosts, s->port))
		return "this Host is not served here (see --host)";
	if (!http_origin_allowed(header(connection, "Origin"), host))
		return "requests of other origins are refused";
	/* a link from a ticket may open the page, nothing else */
	if (site && strcmp(site, "cross-site") == 0 && strcmp(x->query.path, "/") != 0 &&
	    strcmp(x->query.path, "/runbook") != 0)
		return "requests of other sites are refused";
	return NULL;
}

static enum MHD_Result serve(void *cls, struct MHD_Connection *connection, const char *url,
			     const char *method, const char *version, const char *upload,
			     size_t *upload_size, void **con_cls)
{
	struct http_server *s = cls;
	struct exchange *x = *con_cls;
	const struct web_asset *asset;
	const char *refused;

	(void)url, (void)version, (void)upload;
	*upload_size = 0;
	if (!x)
		return MHD_NO;
	if (strcmp(method, "GET") != 0)
		return send_error(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET is served");
	if (x->parsed < 0)
		return send_error(connection,
				  x->parsed == -E2BIG ? MHD_HTTP_URI_TOO_LONG
						      : MHD_HTTP_BAD_REQUEST,
				  x->err.text);
	refused = refusal(s, connection, x);
	if (refused)
		return send_error(connection, MHD_HTTP_FORBIDDEN, refused);
	/* An answer to the head alone ends the connection: right for who sends a body, which nobody
	 * reads here, but a scrape should not cost a connection each time. */
	if (!x->seen && !header(connection, "Content-Length") &&
	    !header(connection, "Transfer-Encoding")) {
		x->seen = true;
		return MHD_YES;
	}
	asset = web_asset_find(x->query.path);
	if (asset)
		return send_asset(connection, asset);
	if (strcmp(x->query.path, "/api/v1/live") == 0) {
		struct MHD_Response *response = http_live_response(s->live, connection);
		if (!response)
			return send_error(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
					  "too many pages follow this recording");
		return send_response(connection, MHD_HTTP_OK, "text/event-stream", NULL, NULL,
				     "no-store", response);
	}
	return serve_handler(s, connection, &x->query);
}

static void *begin_exchange(void *cls, const char *uri, struct MHD_Connection *connection)
{
	struct exchange *x = calloc(1, sizeof(*x));

	(void)cls, (void)connection;
	if (x)
		x->parsed = http_query_parse(uri, &x->query, &x->err);
	return x;
}

static void end_exchange(void *cls, struct MHD_Connection *connection, void **con_cls,
			 enum MHD_RequestTerminationCode code)
{
	(void)cls, (void)connection, (void)code;
	free(*con_cls);
	*con_cls = NULL;
}

static int parse_address(const char *address, uint16_t port, struct sockaddr_storage *ret,
			 socklen_t *ret_len, struct err *err)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		*ret_len = sizeof(*v4);
	} else if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		*ret_len = sizeof(*v6);
	} else {
		return err_set(err, -EINVAL, "'%s' is no IP address", address);
	}
	return 0;
}

static int open_socket(const struct http_options *o, uint16_t *ret_port, struct err *err)
{
	const char *address = o->address ? o->address : "127.0.0.1";
	struct sockaddr_storage sa;
	socklen_t len = 0;
	int r = parse_address(address, o->port, &sa, &len, err);
	int one = 1;

	if (r < 0)
		return r;
	AUTO_CLOSE int fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set(err, -errno, "no socket: %s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&sa, len) < 0 || listen(fd, 256) < 0)
		return err_set(err, -errno, "cannot listen on %s port %u: %s", address, o->port,
			       strerror(errno));
	if (getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		return err_set(err, -errno, "no address: %s", strerror(errno));
	*ret_port = ntohs(sa.ss_family == AF_INET ? ((struct sockaddr_in *)&sa)->sin_port
						  : ((struct sockaddr_in6 *)&sa)->sin6_port);
	return TAKE_FD(fd);
}

/* 200 clients and their store files must not run out of descriptors. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 4096) {
		limit.rlim_cur = MIN_OF(limit.rlim_max, (rlim_t)4096);
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int http_server_start(const struct http_options *options, struct http_server **ret, struct err *err)
{
	int fd, r = http_library_load(&mhd, err);

	if (r < 0)
		return r;
	struct http_server *s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->options = *options;
	text_copy(s->hosts, sizeof(s->hosts), options->hosts ? options->hosts : "");
	s->live = http_live_new(&mhd);
	raise_file_limit();
	fd = s->live ? open_socket(options, &s->port, err) : -ENOMEM;
	if (fd < 0) {
		http_server_stop(s);
		return fd;
	}
	s->daemon = mhd.start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC, s->port,
		NULL, NULL, serve, s, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE,
		(unsigned)SERVER_THREADS, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)SERVER_MOST_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)SERVER_TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)SERVER_CONNECTION_BYTES, MHD_OPTION_URI_LOG_CALLBACK, begin_exchange, s,
		MHD_OPTION_NOTIFY_COMPLETED, end_exchange, s, MHD_OPTION_END);
	if (!s->daemon) {
		close(fd);
		http_server_stop(s);
		return err_set(err, -EIO, "the HTTP server does not start");
	}
	*ret = s;
	return 0;
}

uint16_t http_server_port(const struct http_server *s)
{
	return s->port;
}

void http_server_publish(struct http_server *s, const char *name, const char *json)
{
	http_live_publish(s->live, name, json);
}

void http_server_stop(struct http_server *s)
{
	if (!s)
		return;
	if (s->live)
		http_live_close(s->live);
	if (s->daemon)
		mhd.stop_daemon(s->daemon);
	http_live_free(s->live);
	free(s);
}

const struct web_asset *web_asset_find(const char *path)
{
	for (size_t i = 0; i < n_web_assets; i++)
		if (strcmp(web_assets[i].path, path) == 0)
			return &web_assets[i];
	return NULL;
}

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api.h"
#include "commands.h"
#include "envelope.h"
#include "json.h"
#include "store_reader.h"
#include "text.h"
#include "timefmt.h"

struct serve_cli {
	const char *listen, *host;
};

static const struct option options[] = {
	OPTION(serve_cli, listen, "listen", 'l', OPTION_TEXT, "ADDRESS:PORT",
	       "where to listen (default: 127.0.0.1:9760; port 0 takes a free one)"),
	OPTION(serve_cli, host, "host", 0, OPTION_TEXT, "NAME,...",
	       "further names that a request's Host header may carry"),
};

/* "127.0.0.1:9760", "[::1]:9760", ":9760" or "9760" */
static int parse_listen(const char *text, char *address, size_t size, uint16_t *ret_port,
			struct err *err)
{
	const char *colon = strrchr(text, ':');
	const char *port = colon ? colon + 1 : text;
	size_t len = colon ? (size_t)(colon - text) : 0;
	uint64_t value;

	if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	if (text_u64(port, &value) < 0 || value > UINT16_MAX)
		return err_set(err, -EINVAL, "--listen takes ADDRESS:PORT, not '%s'", text);
	if (!text_copy_n(address, size, len ? text : "127.0.0.1", len ? len : 9))
		return err_set(err, -EINVAL, "--listen: the address is too long");
	*ret_port = (uint16_t)value;
	return 0;
}

static bool is_loopback(const char *address)
{
	return text_starts(address, "127.") || strcmp(address, "::1") == 0;
}

static void wait_for_signal(const sigset_t *set)
{
	int signal_number;

	while (sigwait(set, &signal_number) != 0)
		;
}

static void serve_tell(const struct invocation *in, const char *address, unsigned port)
{
	AUTO_BUF struct buf url = { 0 }, out = { 0 };
	struct envelope envelope;
	struct json j;

	buf_addf(&url, strchr(address, ':') ? "http://[%s]:%u/" : "http://%s:%u/", address, port);
	if (in->common.json) {
		envelope_read_live(&envelope);
		json_init(&j, &out);
		json_object(&j, NULL);
		envelope_json(&j, &envelope, "serve", clock_real_ns());
		json_str(&j, "url", buf_str(&url));
		json_str(&j, "address", address);
		json_u64(&j, "port", port);
		json_str(&j, "store", in->store);
		json_end_object(&j);
	}
	puts(in->common.json ? buf_str(&out) : buf_str(&url));
	fflush(stdout);
}

/* A recorder may start later, and the page will show what it writes; but an empty page must not be
 * all that is said about a mistyped name. */
static int serve_look(const char *store, struct err *err)
{
	struct store_reader *reader = NULL;
	int r = store_reader_open(store, &reader, err);

	store_reader_close(reader);
	if (r != -ENOENT)
		return r;
	fprintf(stderr, "zscope: %s; waiting for it\n", err->text);
	return 0;
}

static int serve_run(struct invocation *in, struct err *err)
{
	const struct serve_cli *cli = in->options;
	char address[64] = "127.0.0.1";
	struct http_options http = { .address = address, .port = 9760, .hosts = cli->host };
	struct http_server *server = NULL;
	struct api *api = NULL;
	sigset_t set;
	int r = 0;

	if (cli->listen)
		r = parse_listen(cli->listen, address, sizeof(address), &http.port, err);
	if (r < 0)
		return r;
	/* blocked before any thread starts, so that all of them leave it to sigwait */
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);

	r = serve_look(in->store, err);
	if (r >= 0)
		r = api_open(in->store, &api, err);
	if (r < 0)
		return r;
	http.handler = api_handle;
	http.arg = api;
	r = http_server_start(&http, &server, err);
	if (r >= 0) {
		api_server(api, server);
		if (!is_loopback(address))
			fprintf(stderr,
				"zscope: %s is not loopback: whoever reaches it can read "
				"this recording; use a proxy with a login\n",
				address);
		serve_tell(in, address, http_server_port(server));
		wait_for_signal(&set);
		api_server(api, NULL);
	}
	http_server_stop(server);
	api_close(api);
	return r < 0 ? r : STATUS_OK;
}

const struct command cmd_serve = {
	.name = "serve",
	.summary = "show a recording as a web page, with an API and /metrics",
	.arguments = "",
	.description =
		"Serves the page, its JSON API (/api/v1) and /metrics over the recording in "
		"--store, also while zscope record writes it. Needs no privilege but to read the "
		"store. Listens on loopback, answers only GET, and only requests whose Host header "
		"names this machine's loopback (or a name given with --host): a page of another "
		"site cannot reach it.\n"
		"Prints the address of the page on stdout (with --json one object: url, address, "
		"port, store) and runs until SIGINT or SIGTERM.\n"
		"The only command that needs libmicrohttpd (Debian: libmicrohttpd12), which it "
		"loads when it starts.",
	.examples = "zscope serve\nzscope serve --store /var/lib/zombiescope --listen "
		    "127.0.0.1:0\nzscope serve --listen 10.0.0.7:9760 --host node-7\n",
	.common = COMMON_JSON | COMMON_STORE,
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.options_size = sizeof(struct serve_cli),
	.run = serve_run,
};

#include "fuzz.h"
#include "http_query.h"

/* First line: the request target; second: Host; third: Origin or Accept. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = fuzz_text(bytes, len);
	char *host = strchr(text, '\n'), *origin = NULL;
	static struct http_query q;
	struct err err;
	uint64_t value;

	if (host) {
		*host++ = '\0';
		origin = strchr(host, '\n');
		if (origin)
			*origin++ = '\0';
	}
	if (http_query_parse(text, &q, &err) == 0) {
		if (q.path[0] != '/' || strstr(q.path, "/.."))
			abort();
		for (size_t i = 0; i < q.n_params; i++)
			for (const char *c = q.params[i].value; *c; c++)
				if ((unsigned char)*c < 0x20)
					abort();
		http_query_u64(&q, "cols", 7, 1, 4000, &value, &err);
		http_query_time(&q, "from", 0, UINT64_C(1700000000000000000), &value, &err);
	}
	/* whatever is allowed must be one of the names, never a prefix or suffix of it */
	if (host && http_host_allowed(host, "node-1,node-2", 9760) &&
	    !strcasestr(host, "localhost") && !strstr(host, "127.0.0.1") && !strstr(host, "::1") &&
	    !strcasestr(host, "node-"))
		abort();
	http_origin_allowed(origin, host);
	http_accepts(origin, "gzip");
	free(text);
	return 0;
}

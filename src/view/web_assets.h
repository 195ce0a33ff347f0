/* The page, bundled at build time (web/, tools/embed-web.py): plain for the report, gzipped for the
 * wire. */
#pragma once

#include <stddef.h>

struct web_asset {
	const char *path; /* "/", "/app.js", "/app.css" */
	const char *type;
	const unsigned char *plain; /* NUL-terminated behind plain_len */
	size_t plain_len;
	const unsigned char *packed; /* gzip */
	size_t packed_len;
	const char *etag;
	const char *sha256_base64; /* of plain, for a Content-Security-Policy */
};

extern const struct web_asset web_assets[];
extern const size_t n_web_assets;

/* NULL = no such file. */
const struct web_asset *web_asset_find(const char *path);

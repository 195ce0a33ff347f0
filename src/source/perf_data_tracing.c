/* TRACING_DATA of a pipe: the kernel's descriptions of the tracepoints that were recorded. Only
 * here such a stream says their names. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "perf_data_impl.h"
#include "text.h"

/* A text up to its NUL; NULL when none ends it. */
static const char *tracing_text(struct perf_bytes *b)
{
	const char *text = (const char *)b->at;
	size_t len = strnlen(text, perf_bytes_left(b));

	if (b->failed || len == perf_bytes_left(b)) {
		b->failed = true;
		return NULL;
	}
	perf_bytes_take(b, len + 1);
	return text;
}

/* A file with its size before it. */
static struct perf_bytes tracing_file(struct perf_bytes *b)
{
	uint64_t len = perf_bytes_u64(b);
	const uint8_t *at = len <= perf_bytes_left(b) ? perf_bytes_take(b, (size_t)len) : NULL;

	if (!at) {
		b->failed = true;
		return (struct perf_bytes){ .failed = true };
	}
	return (struct perf_bytes){ .at = at, .end = at + len };
}

/* What stands behind "key" at a line's begin, up to the line's end. */
static bool format_field(struct perf_bytes file, const char *key, char *ret, size_t size)
{
	const char *at = (const char *)file.at, *end = (const char *)file.end;
	size_t len = strlen(key);

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;
		if ((size_t)(stop - at) > len && memcmp(at, key, len) == 0) {
			text_copy_n(ret, size, at + len, (size_t)(stop - at) - len);
			return true;
		}
		at = stop + 1;
	}
	return false;
}

static void tracing_event(struct perf_data *d, const char *group, struct perf_bytes format)
{
	char name[128], id[24], full[256];
	const char *at = id;
	uint64_t number;

	if (!format_field(format, "name: ", name, sizeof(name)) ||
	    !format_field(format, "ID: ", id, sizeof(id)) || text_take_u64(&at, &number) < 0)
		return;
	snprintf(full, sizeof(full), "%.100s:%s", group, name);
	vec_foreach (&d->attrs, a)
		if (a->type == PERF_TYPE_TRACEPOINT && a->config == number && !a->name)
			a->name = arena_strdup(&d->arena, full);
}

void perf_tracing_parse(struct perf_data *d, const void *bytes, size_t len)
{
	static const uint8_t magic[] = { 0x17, 0x08, 'D', 't', 'r', 'a', 'c', 'i', 'n', 'g' };
	struct perf_bytes b = { .at = bytes, .end = (const uint8_t *)bytes + len, .swap = d->swap };
	const void *start = perf_bytes_take(&b, sizeof(magic));

	if (!start || memcmp(start, magic, sizeof(magic)) != 0)
		return;
	tracing_text(&b);                  /* version */
	perf_bytes_take(&b, 2 + 4);        /* byte order, size of a long; of a page */
	for (unsigned i = 0; i < 2; i++) { /* header_page, header_event */
		tracing_text(&b);
		tracing_file(&b);
	}
	for (uint32_t n = perf_bytes_u32(&b); n > 0 && !b.failed; n--)
		tracing_file(&b); /* ftrace's own */
	for (uint32_t groups = perf_bytes_u32(&b); groups > 0 && !b.failed; groups--) {
		const char *group = tracing_text(&b);
		for (uint32_t n = perf_bytes_u32(&b); n > 0 && !b.failed; n--) {
			struct perf_bytes format = tracing_file(&b);
			if (!b.failed)
				tracing_event(d, group, format);
		}
	}
}

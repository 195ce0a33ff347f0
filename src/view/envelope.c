#include "envelope.h"

#include <stdio.h>

#include "meta_lines.h"
#include "text.h"

static void envelope_line(const struct root *root, const char *path, char *ret, size_t size)
{
	AUTO_BUF struct buf text = { 0 };

	if (*ret || root_read(root, path, 4096, &text, NULL) < 0)
		return;
	text_copy_n(ret, size, buf_str(&text), text_line_len(buf_str(&text)));
}

void envelope_read(const struct root *root, struct envelope *ret)
{
	*ret = (struct envelope){ 0 };
	envelope_line(root, "proc/sys/kernel/hostname", ret->host, sizeof(ret->host));
	envelope_line(root, "etc/hostname", ret->host, sizeof(ret->host));
	envelope_line(root, "proc/sys/kernel/osrelease", ret->kernel, sizeof(ret->kernel));
}

void envelope_read_live(struct envelope *ret)
{
	AUTO_ROOT struct root root = { .fd = -1 };

	*ret = (struct envelope){ 0 };
	if (root_open(NULL, &root, NULL) == 0)
		envelope_read(&root, ret);
}

void envelope_parse_meta(const char *bytes, size_t len, struct envelope *e)
{
	const char *at;
	size_t n = meta_lines_find(bytes, len, "host", &at);

	if (n)
		text_copy_n(e->host, sizeof(e->host), at, n);
	n = meta_lines_find(bytes, len, "kernel", &at);
	if (n)
		text_copy_n(e->kernel, sizeof(e->kernel), at, n);
}

void envelope_unknowns(const struct envelope *e, struct unknowns *unknowns)
{
	if (!*e->host)
		unknowns_add(unknowns, "host",
			     "neither /proc/sys/kernel/hostname nor /etc/hostname told it");
	if (!*e->kernel)
		unknowns_add(unknowns, "kernel", "/proc/sys/kernel/osrelease did not tell it");
}

void envelope_json(struct json *j, const struct envelope *e, const char *command, uint64_t time_ns)
{
	char schema[96];

	snprintf(schema, sizeof(schema), "zombiescope/%s/1", command);
	json_str(j, "schema", schema);
	if (*e->host)
		json_str(j, "host", e->host);
	json_time(j, "time", time_ns);
	if (*e->kernel)
		json_str(j, "kernel", e->kernel);
}

void evidence_json(struct json *j, const char *what, const char *value, const char *unit,
		   const char *source, uint64_t time_ns)
{
	json_object(j, NULL);
	json_str(j, "what", what);
	json_str(j, "value", value);
	if (unit)
		json_str(j, "unit", unit);
	json_str(j, "source", source);
	json_u64(j, "time_ns", time_ns);
	json_end_object(j);
}

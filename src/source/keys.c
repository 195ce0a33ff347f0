#include "keys.h"

#include <string.h>

#include "scan.h"

static const struct key_field *keys_find(const char *key, size_t len,
					 const struct key_field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fields[i].len == len && memcmp(fields[i].key, key, len) == 0)
			return &fields[i];
	return NULL;
}

size_t keys_parse(const char *text, char separator, const struct key_field *fields, size_t n,
		  void *record)
{
	uint64_t *have = record, value;
	size_t found = 0;

	for (const char *line = text; *line; line = scan_line(line)) {
		const char *end = line;
		while (*end && *end != separator && *end != '\n')
			end++;
		if (*end != separator)
			continue;
		const struct key_field *f = keys_find(line, (size_t)(end - line), fields, n);
		if (!f || !scan_next_u64(end + 1, &value))
			continue;
		uint64_t *place = (uint64_t *)((char *)record + f->offset);
		value = value > UINT64_MAX / f->scale ? UINT64_MAX : value * f->scale;
		*place = *have & f->bit ? *place + value : value;
		*have |= f->bit;
		found++;
	}
	return found;
}

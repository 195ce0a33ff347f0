#include "meta_lines.h"

#include <string.h>

#include "text.h"

size_t meta_lines_find(const char *bytes, size_t len, const char *key, const char **ret)
{
	size_t key_len = strlen(key);

	for (size_t at = 0; at < len;) {
		const char *line = bytes + at;
		const char *end = memchr(line, '\n', len - at);
		size_t n = end ? (size_t)(end - line) : len - at;
		if (n > key_len + 1 && memcmp(line, key, key_len) == 0 && line[key_len] == '=') {
			*ret = line + key_len + 1;
			return n - key_len - 1;
		}
		at += n + 1;
	}
	return 0;
}

bool meta_lines_u64(const char *bytes, size_t len, const char *key, uint64_t *ret)
{
	char value[24];
	const char *at;
	size_t n = meta_lines_find(bytes, len, key, &at);

	if (!n || n >= sizeof(value))
		return false;
	text_copy_n(value, sizeof(value), at, n);
	return text_u64(value, ret) == 0;
}
